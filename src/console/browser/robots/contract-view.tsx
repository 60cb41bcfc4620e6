import type { ComponentChildren } from "preact";

import type { RobotContract } from "../../../api/contract.ts";
import { isContract } from "../../../api/is-contract.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { None } from "../parts/none.tsx";
import { Facts } from "../parts/page.tsx";
import { SmallTable } from "../parts/table/table.tsx";
import { counted, number, withSpaces } from "../parts/text.ts";

type Axis = RobotContract["action_axes"][number];

/** The contract of a robot as tables, and as the raw JSON. */
export function ContractView({ contract }: { readonly contract: Readonly<Record<string, unknown>> | null }) {
  if (contract === null) {
    return <p>Its type is one of the catalog, which says how it is built: the robot sent no contract of its own.</p>;
  }
  return (
    <div class="sections">
      {isContract(contract) ? (
        <ContractTables contract={contract} />
      ) : (
        <p>This contract is of a format that the console does not know.</p>
      )}
      <RawContract contract={contract} />
    </div>
  );
}

function ContractTables({ contract }: { readonly contract: RobotContract }) {
  const { display_name: displayName, groups } = contract;
  return (
    <>
      <Facts
        facts={[
          ...(displayName === undefined ? [] : [["Name", displayName] as const]),
          ["Topology", withSpaces(contract.topology)],
          ["Actions", withSpaces(contract.action_semantics)],
          ["Gripper", contract.gripper],
          ["Control rate", `${number(contract.control_rate_hz)} Hz`],
          ["Groups", groups.map(({ name, kind }) => `${name} (${kind})`).join(", ")],
        ]}
      />
      <Cameras cameras={contract.cameras} />
      <Axes title="Action axes" axes={contract.action_axes} hasSteps />
      <Axes title="State axes" axes={contract.state_axes} hasSteps={false} />
    </>
  );
}

function Cameras({ cameras }: Pick<RobotContract, "cameras">) {
  return (
    <TitledTable title={counted(cameras.length, "camera")} heads={["Role", "Mount", "Image", "Rate", "Rotated"]}>
      {cameras.map(({ role, mount, side, width, height, fps, rotation_degrees: rotationDegrees }) => (
        <tr key={role}>
          <th scope="row">{role}</th>
          <td>{side === undefined ? mount : `${mount}, ${side}`}</td>
          <td>
            {width} × {height} px
          </td>
          <td>{number(fps)} fps</td>
          <td>{rotationDegrees}°</td>
        </tr>
      ))}
    </TitledTable>
  );
}

interface AxesProps {
  readonly title: string;
  readonly axes: readonly Axis[];
  readonly hasSteps: boolean;
}

function Axes({ title, axes, hasSteps }: AxesProps) {
  const heads = ["#", "Axis", "Unit", "Range", ...(hasSteps ? ["Largest step"] : []), "From the robot's own numbers"];
  return (
    <TitledTable title={`${title}, in vector order`} heads={heads}>
      {axes.map(({ name, unit, range, native, max_step: maxStep }, index) => (
        <tr key={name}>
          <td class="muted">{index}</td>
          <th scope="row" class="mono">
            {name}
          </th>
          <td>{unit === "1" ? "ratio" : unit}</td>
          <td class="nowrap">{range === undefined ? <None /> : `${exact(range[0])} … ${exact(range[1])}`}</td>
          {hasSteps ? <td>{maxStep === undefined ? <None /> : exact(maxStep)}</td> : null}
          <td class="nowrap">{native === undefined ? "the same" : nativeText(native)}</td>
        </tr>
      ))}
    </TitledTable>
  );
}

interface TitledTableProps {
  readonly title: string;
  readonly heads: readonly string[];
  readonly children: ComponentChildren;
}

function TitledTable({ title, heads, children }: TitledTableProps) {
  return (
    <section>
      <h3>{title}</h3>
      <SmallTable label={title} heads={heads}>
        {children}
      </SmallTable>
    </section>
  );
}

function RawContract({ contract }: { readonly contract: unknown }) {
  const text = JSON.stringify(contract, null, 2);
  return (
    <details>
      <summary>As it was sent (JSON)</summary>
      <p class="buttons">
        <CopyButton text={text} what="contract" />
      </p>
      <pre class="code-block" data-tall tabIndex={0}>
        {text}
      </pre>
    </details>
  );
}

/** Same form as `robot-policy-agent contract`: canonical = scale × native + offset. */
function nativeText({ unit, scale, offset }: NonNullable<Axis["native"]>): string {
  const product = `${exact(scale)} × ${unit}`;
  if (offset === 0) return product;
  return offset > 0 ? `${product} + ${exact(offset)}` : `${product} − ${exact(-offset)}`;
}

/** Six digits: a micrometre in a metre. */
function exact(value: number): string {
  return String(Number(value.toPrecision(6)));
}
