import { LOOPBACK_URL } from "../../api/logins.ts";
import { ACCOUNT_ITEMS_MAXIMUM } from "../account/operations.ts";

/** What the interface description says in words, and the rules that only words or a pattern can say. */
interface Words {
  readonly description?: string;
  readonly members?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const CONTESTED_SINCE =
  "Since when two computers register this name in turn, each replacing what the other registered; null when none was seen to do so for two days.";

/** By the name of the schema. */
export const DESCRIPTIONS: Readonly<Record<string, Words>> = {
  RobotSetup: {
    description: "A one-time or replacement installation request sent from a robot computer.",
    members: {
      name: { description: "Unique stable name for one physical robot." },
      robot_type_id: { description: "Type id from the ready robot catalog or from a validated custom manifest." },
      region: { description: "Cloud region code nearest the physical robot." },
      configuration_digest: {
        description: "Ordered SHA-256 digest of the local robot configuration files.",
        pattern: "^sha256:[0-9a-f]{64}$",
      },
      site: { description: "Site name used to select fleet members. Null and absent mean none." },
      labels: { description: "Labels used to select fleet members. Null and absent mean none." },
      contract: { description: "Normalized contract from a validated custom robot manifest." },
    },
  },
  RobotView: {
    members: {
      id: { description: "Stays when the robot registers again." },
      created_at: { description: "When it registered for the first time." },
    },
  },
  RobotContract: {
    description:
      "How a custom robot type is built and driven. Names of groups, axes and cameras are unique; an axis is called <group>.<element>.<quantity>, after a group of the contract.",
    members: {
      robot_type_id: { description: "That of the request." },
      state_axes: { description: "In vector order." },
      action_axes: { description: "In vector order." },
    },
  },
  OtherContract: { description: "A contract of any other kind, stored as it comes." },
  FleetCreate: {
    members: {
      subject: {
        description: "A model by its slug, which stands for its default checkpoint, or a checkpoint by its id.",
      },
      peak_active_robots: { description: "Robots that are active at the same time, at most; no more than members." },
      operating_windows: {
        description: "For the mode scheduled, which needs at least one; the others take none. They must not overlap.",
      },
    },
  },
  FleetRobotSelection: {
    description:
      "Exactly one of robots and selector. Membership is captured when the fleet is created; robots that are registered later do not join it.",
    members: { robots: { description: "Names or ids of robots, each once." } },
  },
  FleetPreview: {
    description: "A selection as a fleet takes it: exactly one of robots and selector.",
    members: {
      robots: { description: "Names or ids of robots, each once." },
      subject: { description: "A model or checkpoint to judge the robots by; without one nobody is judged." },
    },
  },
  FleetPreviewed: {
    members: { total: { description: "How many robots there are; all of them are shown." } },
  },
  FleetDetails: {
    members: {
      updated_at: { description: "When its model was last changed; null where it has its first." },
      operating_windows: { description: "In their order, in UTC." },
      selection: { description: "How its members were chosen." },
      generations: { description: "Newest first, 100 at most; what the fleet works with is among them." },
      members: { description: "In the order they were registered." },
      endpoints: { description: "Of its model and of its update, in regions that it has robots in." },
      needs: { description: "What a person has to see to, most urgent first." },
      waiting: { description: "What its waiting robots wait for." },
    },
  },
  FleetSelectionView: {
    members: {
      kind: { description: "robots: they were named. selector: they matched." },
      selector: { description: "Null where they were named." },
    },
  },
  FleetNeed: {
    members: { reason: { description: "What is the matter." }, action: { description: "What a person can do." } },
  },
  FleetNeeds: {
    members: {
      needs: {
        description:
          "Most urgent first; empty where no person is needed: the fleet or its update is blocked, robots lack what the model needs, an endpoint that was healthy fails, or one fails for longer than preparing takes.",
      },
    },
  },
  WaitingCounts: {
    description: "The waiting robots, each counted once.",
    members: {
      endpoint: { description: "Their endpoint is not known to be healthy." },
      window: { description: "The fleet is outside its operating windows." },
      peak: { description: "As many robots as peak_active_robots are active or ready." },
    },
  },
  PreviewedRobot: {
    members: {
      fits: { description: "Whether it has what the subject needs; null without a subject." },
      reason: {
        description: "What it lacks, or, where it fits, why it could not run it now: its endpoint is not healthy.",
      },
    },
  },
  FleetMemberView: {
    members: {
      robot: { description: "Its name." },
      state: { description: "As in the counts of the fleet." },
      waiting_for: {
        description:
          "What a waiting robot waits for: its endpoint, the fleet's operating window, or room below the fleet's peak. Null in the other states.",
      },
      reason: { description: "What keeps it from being ready, in a sentence; null where nothing does." },
    },
  },
  FleetGenerationView: {
    members: {
      status: {
        description:
          "Of what the fleet works with and of its update as in the view of the fleet; superseded: another took its place. There may be others later.",
      },
      activated_at: {
        description: "When its servers were all healthy for the first time; null where they never were.",
      },
      blocker: { description: "What a person has to do, in a sentence; null unless the status is blocked." },
    },
  },
  FleetEndpointView: {
    members: {
      generation_id: { description: "Which generation needs it." },
      status: { description: "unknown: no probe has told yet." },
      since: { description: "When it became so; null while unknown." },
      checked_at: { description: "When it was last probed." },
      detail: { description: "Why the last probe failed; null where it did not." },
    },
  },
  EndpointView: {
    members: {
      status: { description: "unknown: no probe has told yet." },
      since: { description: "When it became so; null while unknown." },
      checked_at: { description: "When it was last probed." },
      detail: { description: "Why the last probe failed; null where it did not." },
    },
  },
  RegistrationSummary: {
    members: {
      robot: { description: "Its name." },
      changed_at: { description: "When anything in it last became other than before." },
      registered_at: { description: "When the robot last registered, changed or not." },
      contested_since: { description: CONTESTED_SINCE },
    },
  },
  RegistrationView: {
    members: {
      contested_since: { description: CONTESTED_SINCE },
      contested_from: {
        description:
          "From where the name is registered in turn, newest first: address of the client, and the credential with the label of its key. Empty while it is not contested.",
      },
      changed_at: { description: "When anything in it last became other than before." },
      registered_at: { description: "When the robot last registered, changed or not." },
      contract: { description: "As it was sent; null where there was none." },
    },
  },
  Refusal: {
    members: {
      robot: { description: "The name that was sent; null where the request was refused before its body was read." },
      status: { description: "Of the answers: 401, 403, 409, 413, 422, 429, or 400 for a body that cannot be read." },
      detail: { description: "Why, as the newest answer said. Of wrong inputs the places and messages." },
      actor: { description: "Credential that was sent. label: of the key; null for a session." },
      address: { description: "Of the client; behind a trusted proxy, the one it names." },
      request_id: { description: "Of the newest." },
      count: { description: "How many there were from first_at to last_at." },
    },
  },
  AuditEntry: {
    members: {
      action: { description: "RESOURCE.VERB, such as fleet.create." },
      subject_id: { description: "Id of what was changed." },
      subject_name: {
        description:
          "Name of a fleet or organization, label of a key, robot of a deployment. Null for what has no name, such as a session.",
      },
      subject_model: { description: "Model of a deployment; null for everything else." },
      actor: {
        description: "Credential that made the change. label: of the key, or of the key a session goes back to.",
      },
      details: { description: "What else is known of the change; never a secret." },
    },
  },
  RegistrationRecord: {
    description: "One registration.",
    members: {
      changed: {
        description:
          "Members that are other than in the registration before: configuration_digest, robot_type_id, region, site, labels, contract. Null where that is not known.",
      },
      actor: { description: "Credential that sent it. label: of the key; null for a session." },
      address: { description: "Of the client that sent it; behind a trusted proxy, the one it names." },
      contested: {
        description:
          "Whether it restored what another computer had replaced, as contested_since of the registration tells.",
      },
    },
  },
  RobotSelector: { description: "All filters that are given must match; at least one is." },
  FleetModelUpdate: {
    members: { subject: { description: "Slug of a model or id of a checkpoint." } },
  },
  FleetView: {
    members: {
      subject: { description: "As it was asked for: what active_model works with." },
      status: {
        description:
          "preparing: the servers it needs have not all been healthy since its model was chosen, or its next operating window is still to come. ready: everything its robots need answers. degraded: it was ready, and now a server fails or some robots do not suit the model. blocked: nothing becomes ready before a person does what blocker says.",
      },
      blocker: { description: "What a person has to do, in a sentence; null unless the status is blocked." },
      readiness_estimate: {
        description:
          "Seconds until it is ready, from preparations that were observed; null unless it is preparing, and as long as nothing was observed.",
      },
      update: { description: "The model that is to take the place of active_model; null where none is." },
    },
  },
  FleetRobotCounts: {
    description: "Each robot that is registered is counted once more: as ready, active, waiting or blocked.",
    members: {
      registered: { description: "Members of the fleet." },
      ready: {
        description: "Could be deployed now: their server is healthy, within peak_active_robots and operating windows.",
      },
      active: { description: "Have an active deployment of the fleet's checkpoint." },
      waiting: { description: "All others." },
      blocked: { description: "Lack what the model needs, or have no endpoint in their region." },
    },
  },
  FleetModelGenerationView: {
    members: {
      generation_id: { description: "Another with every change of the model." },
      status: {
        description:
          "preparing: its servers have not all been healthy yet. active: they have been. blocked: no robot of the fleet can run it. There may be others later.",
      },
    },
  },
  FleetUpdateView: {
    members: {
      status: {
        description:
          "pending: its servers have not all been looked at since it was asked for. preparing: they have, and not all are healthy. blocked: a person has to do what blocker says. There may be others later. An update that is done is active_model.",
      },
      blocker: { description: "What a person has to do, in a sentence; null unless the status is blocked." },
    },
  },
  DeploymentCreate: {
    members: {
      model: { description: "Slug of a model or id of a checkpoint." },
      robot: { description: "Name or id of a robot." },
    },
  },
  DeploymentView: {
    members: {
      status: {
        description:
          "preparing: the server in the robot's region is not known to be healthy yet. active: the robot is served. failed: last_error_code says why; it heals by itself once that is mended. retired: the model was taken from the robot or replaced, for good. There may be others later.",
      },
      model: { description: "Slug of the model." },
      subject_id: { description: "Id of the checkpoint." },
      robot: { description: "Name of the robot." },
      region: { description: "Whose server serves the robot." },
      endpoint_url: {
        description: "Where the robot sends its observations; null for a retired deployment. Use it while active.",
      },
      active_generation_id: { description: "Null unless the status is active." },
      last_error_code: {
        description:
          "robot_incompatible: the robot lacks what the checkpoint needs, since it registered again or the catalog changed. no_endpoint_in_region: the checkpoint answers nowhere in the robot's region. preparation_timeout: the server did not become healthy in time. endpoint_failing: the server was healthy, and is not any more. Null where nothing is wrong; a retired deployment keeps what it had. There may be others later.",
      },
      activated_at: { description: "When it became active for the first time." },
    },
  },
  ModelView: {
    members: {
      slug: { description: "What the model is called: as a fleet's subject or a deployment's model." },
      default_checkpoint_id: { description: "The checkpoint that the slug stands for." },
      checkpoints: { description: "Those on offer, oldest first." },
    },
  },
  CheckpointView: {
    members: {
      requirements: { description: "What a robot must bring to run it; what is not there is not asked for." },
      regions: { description: "Where it answers. A robot is served in its own region and in no other." },
    },
  },
  UsageRecord: {
    description: "A period in which a robot had an active deployment.",
    members: {
      usage_type: { description: "What was measured. robot_time: time in which a robot had an active deployment." },
      sku: { description: "Under what it is listed: robot-time. There may be others later." },
      quantity: { description: "In units; of a period that still runs, what it has come to so far." },
      unit: { description: "second. There may be others later." },
      amount_cents: { description: "Null, because this service bills nobody." },
      robot: { description: "Name of the robot." },
      period_end: { description: "Null while the period runs." },
    },
  },
  UsageSummary: {
    members: {
      unit: { description: "second, of everything in it." },
      total: { description: "What all sums come to." },
      items: { description: "By day, then by name. Nothing that was not used is in it." },
    },
  },
  UsageSum: {
    description: "Time in which robots had an active deployment. What it is not summed up by is null.",
    members: { day: { description: "In UTC, YYYY-MM-DD." } },
  },
  ApiKeyView: {
    members: {
      scopes: { description: "Null for a key that may do everything." },
      last_used_at: { description: "To about a minute." },
      key_prefix: { description: "How the key begins." },
      key_last4: { description: "How it ends." },
      created_by: {
        description:
          "Id of the key it was made with, by itself or through a session; command for the service's own command line.",
      },
      parent_id: {
        description: "The key that it ends with: created_by, or null for one that goes on when that ends.",
      },
      robots: { description: "Names of the only robots it may set up; null for any." },
      max_robots: {
        description: "How many new robots it may add; null where only the limits of the service bound that.",
      },
    },
  },
  ApiKeyCreate: {
    members: {
      scopes: { description: "What the key may do; without scopes it may do everything its maker may." },
      expires_at: {
        description: "When it stops working by itself; in the future. No later than the key that it ends with.",
      },
      independent: {
        description:
          "True for a key that goes on when the key it is made with ends. Only a key that may do everything and never expires can make one.",
      },
      robots: {
        description:
          "Names of the robots it may set up, and no others. Only for a key whose scopes have robots:setup and not api-keys:write.",
      },
      max_robots: {
        description:
          "How many new robots it may add; those that are there it may set up again. Only for a key whose scopes have robots:setup and not api-keys:write.",
      },
    },
  },
  LoginStart: {
    members: {
      verifier: { description: "A secret of the program that logs in, made for this login alone." },
      callback_url: {
        description: "Where on the program's own computer the browser brings the code.",
        pattern: LOOPBACK_URL.source,
      },
    },
  },
  LoginStarted: {
    members: {
      exchange_id: { description: "The login, in all other steps." },
      login_url: {
        description: "Path of the page where a person decides. The site has that page; this service does not.",
      },
      user_code: {
        description: "For the person to compare: the program shows it, and so does the page. It opens nothing.",
      },
    },
  },
  LoginDecision: {
    members: {
      delivery: {
        description:
          "How the token may get to the program. redirect: by the code in redirect_url alone, which the person's browser takes to a program on their own computer. poll: by polling alone, wherever the program runs. Left out, by either. A page on which a person decides says redirect, unless the person says that the program runs elsewhere.",
      },
    },
  },
  LoginPoll: { members: { verifier: { description: "The one the login was started with." } } },
  LoginExchange: {
    members: {
      code: { description: "From the address the browser brought to callback_url." },
      verifier: { description: "The one the login was started with." },
    },
  },
  LoginDecided: {
    members: {
      redirect_url: {
        description:
          "Where the person's browser goes next: callback_url with exchange_id and either code or error=access_denied.",
      },
    },
  },
  SessionView: {
    members: {
      active_organization: {
        description:
          "The one organization of the credential. role: admin may do everything, member what its scopes say.",
      },
      credential: {
        description:
          "What the request was sent with. type: api_key or session. api_key_id: the key that a session goes back to, or the key itself. scopes: null where it may do everything. expires_at: null where it works until it is revoked.",
      },
    },
  },
  AccountView: {
    members: {
      deployments: {
        description: `The newest ${ACCOUNT_ITEMS_MAXIMUM} that are not retired; none for a credential that lacks deployments:read.`,
      },
      api_keys: {
        description: `The newest ${ACCOUNT_ITEMS_MAXIMUM} that are neither revoked nor expired; none for a credential that lacks api-keys:read.`,
      },
      deployment_count: { description: "All that are not retired." },
      api_key_count: { description: "All that are neither revoked nor expired." },
    },
  },
  ApiKeyCreated: { description: "The one time the key itself is shown." },
  LoginPolled: {
    description: "interval: seconds to wait before the next poll. token: once, when the status is complete.",
  },
  Error: {
    description: "Every refusal but 422. detail and message are the same sentence, code is for programs.",
    members: {
      code: {
        description:
          "Unauthorized, Forbidden, NotFound, MethodNotAllowed, Conflict, PayloadTooLarge, RateLimited or Unavailable.",
      },
    },
  },
  HTTPValidationError: { description: "What is wrong with the request, input by input." },
  ValidationError: {
    members: {
      loc: { description: "Path to the offending input: body, query or path, then names and indexes." },
      msg: { description: "For a person." },
      type: { description: "For programs: missing, string_too_short, value_error and others, as pydantic calls them." },
      input: { description: "What was sent there." },
    },
  },
};
