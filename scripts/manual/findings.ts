/** The codes of findings that are not in the table of the manifest's specification; a test compares both with the code that makes them. */
import { type Section, table, text } from "./section.ts";

type Row = readonly [code: string, meaning: string, action: string, severity?: "warning"];

const ROWS: readonly Row[] = [
  // Of the configuration.
  ["insecure_url", "`service.url` is plain http to another machine", "write https, or set `service.allow_insecure`"],
  [
    "unencrypted_service",
    "the API key is sent unencrypted, as `service.allow_insecure` allows",
    "use https",
    "warning",
  ],
  ["url_format", "an address is not one of a service, a proxy or a database", "write it as the message says"],
  ["path_format", "a path is not absolute, or has `..`, a `/` at its end or invisible characters", "write it out"],
  ["region_format", "`robot.region` is not the code of a cloud region", "ask whoever runs the service for its regions"],
  ["name_template", "`robot.name` has an unknown placeholder", "use `{hostname}` or `{machine_id}`"],
  ["name_length", "the name is empty or too long with its placeholders filled in", "shorten it"],
  ["name_common", "many computers have this hostname", "give the robot a name, or use `{machine_id}`", "warning"],
  ["machine_id_missing", "the machine has no /etc/machine-id for `{machine_id}`", "run `systemd-machine-id-setup`"],
  ["timeout_order", "a part of a request may take longer than the whole", "raise `service.request_timeout_s`"],
  ["secret_in_configuration", "a key or password stands in the configuration", "put it into a file, and name the file"],
  [
    "writable_by_others",
    "every user may change or replace this file",
    "`chmod o-w`, as the message says; a warning where only the folder or the manifest is open",
  ],
  [
    "ca_file_missing",
    "`service.ca_file` does not exist",
    "correct the path, or put the authority's certificate there, PEM",
  ],
  ["ca_file_too_large", "it is larger than certificates are", "put the authority's certificate alone there"],
  ["ca_file_private_key", "it contains a private key", "give only the certificate"],
  ["ca_file_not_pem", "it contains no certificate", "give it as PEM"],
  ["ca_file_bad_certificate", "a certificate in it is cut off or damaged", "copy it again"],
  ["key_missing", "the key file is not there", "`robot-policy-agent set-key`, or enroll the robot", "warning"],
  ["key_unreadable", "the key file cannot be read", "give it to the agent: mode 0600, owned by `robot-policy-agent`"],
  ["key_not_a_file", "the path of the key is not that of a file", "correct `service.key_file`"],
  ["key_too_large", "the key file is larger than any key", "correct `service.key_file`"],
  ["key_exposed", "other users may read the key", "`chmod 600`"],
  ["key_owner", "another user owns the key file, and could replace it", "`chown` it, as the message says"],
  ["key_empty", "the key file is empty", "`robot-policy-agent set-key`"],
  ["key_several_lines", "the key file has more than one line", "leave the key alone in it"],
  ["key_space", "the key has a blank in it", "copy it again"],
  ["key_form", "the file holds something else than a key", "copy the key again"],
  ["not_enrolled", "`service.identity` is `enrolled`, and the robot is not", "`robot-policy-agent enroll`", "warning"],
  // Of the listed files and devices.
  ["home_missing", "a path begins with `~/`, and `robot.home` is not set", "set it, or write the path out"],
  ["file_missing", "nothing has this path or fits this pattern", "correct the path, or create the file"],
  [
    "file_unreadable",
    "the agent may not read the file, or its unit hides it",
    "`robot-policy-agent grant --dry-run` shows what is missing",
  ],
  ["file_not_regular", "it is a folder, FIFO, socket or device", "list files; devices as `device:`"],
  [
    "file_too_large",
    "larger than `watch.file_limit_bytes`, or a pattern for too many files",
    "list only what configures the robot",
  ],
  ["file_unstable", "the file changes all the time", "list no logs; stop what writes it"],
  [
    "file_unparseable",
    "JSON or YAML that does not parse, or is empty; it is registered as it is",
    "let the program that writes it finish",
    "warning",
  ],
  [
    "device_missing",
    "no such device is there, or no hardware behind it",
    "plug it in; `robot-policy-agent devices` lists what is there",
  ],
  ["device_unusable", "it is no device, or the system does not say what it is", "correct the manifest"],
  ["device_twins", "another device has the same vendor, product and serial number", "write `by: port`", "warning"],
  ["device_same", "listed devices differ in nothing but their port", "mark cables and ports", "warning"],
  [
    "calibration_stale",
    "a younger calibration of the same arm lies beside the listed one",
    "list the one that is used",
    "warning",
  ],
  // Of the registration.
  ["rejected", "the service refuses this value", "correct it; the message is the service's"],
  ["replaced", "another computer registers this robot's name", "give one of them another name", "warning"],
  ["other_machine", "the state was written on another machine", "`robot-policy-agent rebind`"],
  ["other_name", "the robot is registered under another name", "set the name back, or `robot-policy-agent rebind`"],
  ["hold_ignored", "the file of a hold is not one that the agent trusts", "`robot-policy-agent release`", "warning"],
];

/** The codes of the rows. */
export const FINDING_CODES: readonly string[] = ROWS.map(([code]) => code);

export const findingSection: Section = {
  title: "Findings",
  blocks: [
    text(
      "`check --json` and `status --json` name what is wrong by these codes. They keep the robot from being registered, except warnings. " +
        "The codes of the form and the content of both files are in [the specification of the manifest](../manifest/SPECIFICATION.md#51-table), section 5.1.",
    ),
    table(
      ["code", "meaning", "what to do", "severity"],
      ROWS.map(([code, meaning, action, severity = ""]) => [`\`${code}\``, meaning, action, severity]),
    ),
  ],
};
