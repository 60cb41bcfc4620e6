import { counted } from "../../../views/view.ts";
import { isContract } from "../../../api/is-contract.ts";
import { AXES, CAMERAS, contractFacts, numbered } from "../../../views/contracts.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { ShownFacts, ShownTable } from "../parts/shown.tsx";

/** The contract of a robot as tables, and as the raw JSON. */
export function ContractView({ contract }: { readonly contract: Readonly<Record<string, unknown>> | null }) {
  if (contract === null) {
    return <p>Its type is one of the catalog, which says how it is built: the robot sent no contract of its own.</p>;
  }
  return (
    <div class="sections">
      {isContract(contract) ? (
        <>
          <ShownFacts facts={contractFacts(contract)} />
          <ShownTable
            hasTitle
            label={counted(contract.cameras.length, "camera")}
            columns={CAMERAS}
            rows={contract.cameras}
          />
          {(["action", "state"] as const).map((vector) => (
            <ShownTable
              key={vector}
              hasTitle
              label={`${vector === "action" ? "Action" : "State"} axes, in vector order`}
              columns={AXES}
              rows={numbered(vector === "action" ? contract.action_axes : contract.state_axes)}
            />
          ))}
        </>
      ) : (
        <p>This contract is of a format that the console does not know.</p>
      )}
      <RawContract contract={contract} />
    </div>
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
