/** Devices that robots have, as their makers sell them. */
import type { ChipPlug, Part, UsbPlug } from "./hardware-tree.ts";

type Where = Pick<UsbPlug, "bus" | "chain" | "controller" | "version">;

/** A camera with a serial number; its second node is for metadata. */
export function c920(serial: string, video: number, where: Where): UsbPlug {
  const parts = uvcNodes(video, "HD Pro Webcam C920");
  return { vendor: "046d", product: "082d", serial, words: "HD Pro Webcam C920", maker: "Logitech", parts, ...where };
}

/** A cheap camera without a serial number. */
export function cheapCamera(video: number, where: Where): UsbPlug {
  const parts = uvcNodes(video, "USB Camera: USB Camera");
  return { vendor: "0bda", product: "5830", words: "USB Camera", maker: "Generic", parts, ...where };
}

function uvcNodes(video: number, card: string): readonly Part[] {
  return [
    { video: `video${video}`, index: 0, card },
    { video: `video${video + 1}`, index: 1, card },
  ];
}

/** Interface 0 has depth and infrared, each with a node for its metadata; interface 3 has colour. */
export function realsense(serial: string, video: number, where: Where): UsbPlug {
  const card = "Intel(R) RealSense(TM) Depth Ca";
  const streams = [0, 1, 2, 3].map((index) => ({ video: `video${video + index}`, at: 0, index, card }));
  const colour = [0, 1].map((index) => ({ video: `video${video + 4 + index}`, at: 3, index, card }));
  return {
    vendor: "8086",
    product: "0b3a",
    serial,
    maker: "Intel(R) RealSense(TM) Depth Camera 435i",
    words: "Intel(R) RealSense(TM) Depth Camera 435i",
    parts: [...streams, ...colour],
    ...where,
  };
}

export function ftdi(serial: string, tty: string, where: Where): UsbPlug {
  return {
    vendor: "0403",
    product: "6001",
    serial,
    maker: "FTDI",
    words: "FT232R USB UART",
    parts: [{ tty }],
    ...where,
  };
}

/** Dynamixel's adapter: an FT232H. */
export function u2d2(serial: string, tty: string, where: Where): UsbPlug {
  const words = "USB <-> Serial Converter";
  return { vendor: "0403", product: "6014", serial, maker: "FTDI", words, parts: [{ tty }], ...where };
}

export function ch340(tty: string, where: Where): UsbPlug {
  return { vendor: "1a86", product: "7523", words: "USB Serial", parts: [{ tty }], ...where };
}

/** Two of them have the same serial number. */
export function cp2102(tty: string, where: Where): UsbPlug {
  const words = "CP2102 USB to UART Bridge Controller";
  return { vendor: "10c4", product: "ea60", serial: "0001", maker: "Silicon Labs", words, parts: [{ tty }], ...where };
}

/** Feetech's board: a CH343, which is a modem (CDC ACM). */
export function feetech(serial: string, tty: string, where: Where): UsbPlug {
  return { vendor: "1a86", product: "55d3", serial, words: "USB Single Serial", parts: [{ tty }], ...where };
}

/** A gs_usb adapter with as many channels as names. */
export function gsUsb(serial: string, names: readonly string[], where: Where): UsbPlug {
  const parts = names.map((can, channel) => ({ can, channel }));
  return {
    vendor: "1d50",
    product: "606f",
    serial,
    maker: "bytewerk",
    words: "candleLight USB to CAN adapter",
    parts,
    ...where,
  };
}

/** A CAN chip on the SPI bus of a Raspberry Pi. */
export function mcp251x(can: string, chip = 0, busNumber = 0): ChipPlug {
  return {
    folder: `platform/soc/fe204000.spi/spi_master/spi${busNumber}/spi${busNumber}.${chip}`,
    subsystem: "spi",
    node: `/soc/spi@7e204000/mcp2515@${chip}`,
    compatible: "microchip,mcp2515",
    parts: [{ can }],
  };
}

/** The camera connector of a Raspberry Pi 4. */
export function raspberryReceiver(video: string): ChipPlug {
  return {
    folder: "platform/soc/fe801000.csi",
    subsystem: "platform",
    node: "/soc/csi@7e801000",
    compatible: "brcm,bcm2835-unicam",
    parts: [{ video, index: 0, card: "unicam-image" }],
  };
}

/** The chip of a camera module. */
export function raspberrySensor(name: string, busNumber: number, subdevice: string): ChipPlug {
  return {
    folder: `platform/soc/fe205000.i2c/i2c-22/i2c-${busNumber}/${busNumber}-0010`,
    subsystem: "i2c",
    node: `/soc/i2c0mux/i2c@1/${name}@10`,
    compatible: `sony,${name}`,
    parts: [{ video: subdevice, card: `${name} ${busNumber}-0010` }],
  };
}

/** Two cameras of a Jetson; the numbers of their I²C buses are given at the boot. */
export function jetsonCameras(buses: readonly number[], sensors: readonly string[] = ["imx219", "imx219"]): ChipPlug {
  return {
    folder: "platform/tegra-capture-vi",
    subsystem: "platform",
    node: "/tegra-capture-vi",
    compatible: "nvidia,tegra-camrtc-capture-vi",
    parts: sensors.map((sensor, index) => ({
      video: `video${index}`,
      index,
      card: `vi-output, ${sensor} ${buses[index] ?? 0}-0010`,
    })),
  };
}
