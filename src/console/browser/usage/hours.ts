const FINE = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const COARSE = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

/** Smaller values are shown as `<0.01`, not as 0. */
const LEAST_HOURS = 0.01;
/** From here on, one decimal is enough. */
const COARSE_HOURS = 100;

/** Seconds as hours, without the unit: `<0.01`, `0.25`, `1,234.5`. */
export function hours(seconds: number): string {
  const value = seconds / 3600;
  if (seconds > 0 && value < LEAST_HOURS) return `<${LEAST_HOURS}`;
  return (value >= COARSE_HOURS ? COARSE : FINE).format(value);
}
