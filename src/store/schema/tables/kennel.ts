import type { ColumnType, Generated } from 'kysely';
import type { DecidedBy } from '../../../contracts/decision.ts';
import type { AgentName, LogLine } from '../../../contracts/kennel.ts';
import type { MergeRule, ShipmentState } from '../../../contracts/shipment.ts';
import type { LimitKind, TaskState } from '../../../contracts/task.ts';
import type { ConcludedChanges, Profile } from '../../../contracts/workspace-ops.ts';
import type { Check } from '../../../domain/shipping/checks.ts';
import type { WaitsFor } from '../../../domain/shipping/next.ts';
import type { PartCheck } from '../../../domain/tasks/checks/part-checks.ts';
import type { AskedCheck, Checked, Commands, WantedCheck } from '../../../domain/tasks/checks/project-profile.ts';
import type { TestRun, Verdict } from '../../../domain/tasks/checks/verdict.ts';
import type { PagePicture } from '../../../domain/tasks/report.ts';
import type { Created, Defaulted, Json, NullableJson } from '../columns.ts';

/** When a row was created or last seen. */
type Seen = ColumnType<Date, Date | undefined, Date>;

/** One row for each host, renewed every few seconds by its kennel worker. */
export interface KennelHostTable {
  host: string;
  slots: number;
  /** an engine answers */
  ready: boolean;
  /** what is missing, and what to do */
  problem: string | null;
  /** agents whose image exists or can be built, and that can reach a model */
  harnesses: Json<Array<{ name: AgentName; ready: boolean; why: string | null }>>;
  seen_at: Seen;
  /** id of the home that this host belongs to; null in older rows */
  identity: ColumnType<string | null, string | null | undefined, string | null>;
  /** the process that holds the lease of the name */
  holder: ColumnType<string | null, string | null | undefined, string | null>;
  lease_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** when an engine answered last */
  ready_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** what git there says of the user who runs it */
  git_name: ColumnType<string | null, string | null | undefined, string | null>;
  git_email: ColumnType<string | null, string | null | undefined, string | null>;
}
/** Workspaces as their host last saw them; the folders themselves decide. */
export interface WorkspaceTable {
  host: string;
  name: string;
  path: string;
  profile: NullableJson<Profile>;
  seen_at: Seen;
  /** id of the folder itself: hosts that share a disk see the same id, a clone of the same name has another */
  identity: ColumnType<string | null, string | null | undefined, string | null>;
}
export interface TaskResult {
  /** how it ended, in one sentence */
  summary: string;
  changes: ConcludedChanges | null;
  tests: { command: string; ok: boolean; output: string } | null;
  said: string;
  /** what went wrong at its end, and what to do; results of versions before have none */
  problem?: string;
  /** all that its agent could read was the chat's own */
  own?: true;
  /** why no tests were run, in words that follow a colon */
  untested?: string;
  /** the command with which its agent ran tests, where the project names none */
  testedBy?: string;
  /** missing where no file was changed, and in results of versions before */
  verdict?: Verdict;
  /** build, types and lint, where they are known; missing in results of versions before */
  parts?: PartCheck[];
  /** of the pages that the changes touch */
  pictures?: PagePicture[];
}
/** What an agent means to do. */
interface TaskPlan {
  /** number of the run that has handed it in */
  step: number;
  text: string;
  /** what it would create, change or delete, as it says itself */
  files: string[];
}
export interface TaskTable {
  id: string;
  chat_id: string;
  thread_id: string;
  turn_id: string;
  /** the call that created it, by which a retried call finds its task */
  call_id: string;
  workflow_id: string;
  goal: string;
  /** as asked for: an agent, or `auto` */
  agent: string;
  harness: AgentName;
  host: string;
  workspace: string;
  /** id of the folder that `workspace` named when the task was created */
  workspace_identity: ColumnType<string | null, string | null | undefined, string | null>;
  worktree: Generated<boolean>;
  state: TaskState;
  /** ms of work */
  timeout_ms: number;
  step: Generated<number>;
  session_id: string | null;
  /** what it did last, in one line */
  last: string | null;
  /** a person said "pause", and it has not taken effect yet */
  pausing: Generated<boolean>;
  /** a person's latest order, until it is taken back; it holds even if no workflow heard it */
  ordered: ColumnType<'cancel' | 'pause' | null, 'cancel' | 'pause' | null | undefined, 'cancel' | 'pause' | null>;
  reason: string | null;
  result: NullableJson<TaskResult>;
  outbox_id: string | null;
  created_at: Seen;
  started_at: Date | null;
  ended_at: Date | null;
  /**
   * until when its model refuses it: known from its last call while it works, and what it waits for while its state is
   * `waiting`
   */
  limited_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
  limited_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  limited_kind: ColumnType<LimitKind | null, LimitKind | null | undefined, LimitKind | null>;
  limited_named: ColumnType<boolean | null, boolean | null | undefined, boolean | null>;
  /** nothing is changed yet: its plan has no yes, or its first run after the yes has not begun */
  planning: Generated<boolean>;
  /** the plan that was handed in last */
  plan: NullableJson<TaskPlan>;
  /** the pull request that it works on */
  shipment_id: ColumnType<string | null, string | null | undefined, string | null>;
  /** its worktree begins there; the checked out commit when null */
  from_branch: ColumnType<string | null, string | null | undefined, string | null>;
  /** text of others that it works with, each line marked */
  material: ColumnType<string | null, string | null | undefined, string | null>;
  /** the tasks that it began together with */
  race_id: ColumnType<string | null, string | null | undefined, never>;
  /** its work was brought in */
  chosen: Generated<boolean>;
}
/** A pull request that is watched from its branch to its merge. */
export interface ShipmentTable {
  id: string;
  chat_id: string;
  call_id: string;
  workflow_id: string;
  host: string;
  workspace: string;
  /** owner/name */
  repository: string;
  clone_url: string;
  /** on the server */
  branch: string;
  base: string;
  /** what it began with */
  commit: string;
  title: string;
  body: string;
  rule: MergeRule;
  number: number | null;
  url: string | null;
  /** newest commit that was made here and is on the server */
  head: string | null;
  /** of the newest look */
  failed_checks: Defaulted<Check[]>;
  /** as the newest look has found it; null: nothing was seen since the last push */
  waits_for: ColumnType<WaitsFor | null, WaitsFor | null | undefined, WaitsFor | null>;
  state: ShipmentState;
  /** a person has said so; it holds even if no workflow heard it */
  stopped: Generated<boolean>;
  /** the newest pass of which something or nothing has become */
  settled_pass: Generated<number>;
  reason: string | null;
  created_at: Seen;
  ended_at: Date | null;
}
/** What people have written about a pull request. Its texts are of strangers. */
interface ShipmentRemarkTable {
  shipment_id: string;
  key: string;
  author: string;
  /** the author may write to the repository */
  inside: boolean;
  body: string;
  /** file and line */
  place: string;
  /** the pass that works on it */
  pass: number | null;
  done: Generated<boolean>;
  seen_at: Seen;
}

/** Tasks that began together. */
interface RaceTable {
  id: string;
  chat_id: string;
  /** `race`: attempts at one goal, of which one is chosen. `split`: parts, which are all brought in */
  kind: 'race' | 'split';
  /** the commit that all begin at; null until the first has its worktree */
  base: ColumnType<string | null, string | null | undefined, string | null>;
  /** the task whose end was told as the end of all */
  told_by: ColumnType<string | null, string | null | undefined, string | null>;
  chosen_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** branches that were not chosen are gone */
  dropped_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
  created_at: Seen;
}
/** A limit that all tasks with the same account share. The row goes when the endpoint answers again. */
interface ModelLimitTable {
  /** an endpoint with its key, or `login:<agent>` */
  account: string;
  model: string;
  kind: LimitKind;
  until: Date;
  /** the endpoint named the time */
  named: boolean;
  /** how often it refused again after the time was over */
  waits: Generated<number>;
  /** one caller asks whether the limit is over; others wait until then for what it learns */
  trying_until: ColumnType<Date | null, Date | null | undefined, Date | null>;
}
/** The log of a run as it was read. A line is stored once, also after crashes. */
interface TaskLogTable {
  task_id: string;
  seq: number;
  step: number;
  at: Date;
  line: Json<LogLine>;
}
/** Counted by the gate, not claimed by the agent. */
interface TaskUsageTable {
  task_id: string;
  model: string;
  calls: Generated<number>;
  input_tokens: Generated<number>;
  output_tokens: Generated<number>;
  micro_usd: Generated<number>;
  unpriced: Generated<number>;
}
interface TaskEgressTable {
  task_id: string;
  host: string;
  port: number;
  refused: Generated<number>;
  /** tunnels that have ended, and their bytes out and in */
  connections: Generated<number>;
  sent: Generated<number>;
  received: Generated<number>;
  last_at: Seen;
}
/** A host that a task asked for without a rule. */
export interface EgressAskTable {
  task_id: string;
  host: string;
  port: number;
  /** the program, as it calls itself */
  tool: string | null;
  asked_at: Seen;
  /** null until it is part of a question */
  question_id: string | null;
  /** of a registry: where its package manager looks for packages */
  address: string | null;
}
/** What a person decided about a host. Of the rules that are not revoked the latest counts. */
interface EgressRuleTable {
  id: string;
  kennel_host: string;
  workspace: string;
  /** null: for every task of the workspace */
  task_id: string | null;
  host: string;
  port: number;
  allowed: boolean;
  /** a "once" ends then */
  until: ColumnType<Date | null, Date | null | undefined, Date | null>;
  question_id: string;
  /** null when nobody answered in time */
  decided_by: NullableJson<DecidedBy>;
  created_at: Created;
  revoked_at: ColumnType<Date | null, Date | null | undefined, Date | null>;
}
interface SetupScriptTable {
  question_id: string;
  task_id: string;
  script: string;
  created_at: Created;
}
/** Words of a person to a coding task at work. */
export interface TaskWordsTable {
  /** of the message or call that says them, so that they count once */
  id: string;
  task_id: string;
  text: string;
  said_at: Created;
  /** number of the run in which the agent had them in its prompt */
  heard_step: number | null;
  /** not of a person: tests of the project fail after its work */
  of_tests: Generated<boolean>;
}
/** What the coding tasks of a chat used on a day (UTC): the sum of `task_usage`, by the day of the call. */
interface TaskSpendingTable {
  chat_id: string;
  day: string;
  tokens: number;
  micro_usd: number;
  unpriced: Generated<number>;
}
/** A workspace that the owner lets somebody else use. `person`: the digits of a phone number. */
interface WorkspaceShareTable {
  workspace: string;
  person: string;
  shared_at: Seen;
}
/** Who the commits are by; without a name, Fetch. `asked_by`: the task that asked for it. */
interface SignatureTable {
  person: string;
  name: string | null;
  email: string | null;
  asked_by: ColumnType<string | null, string | null | undefined, string | null>;
}
/** What a chat has written itself. `path`: `.` is the whole workspace, `//tsk_…` the same when a task began. */
interface OwnContentTable {
  chat_id: string;
  /** id of the folder */
  workspace: string;
  path: string;
  /** SHA-256, hex */
  digest: string;
}
/** What the tests of a project said of one state of its files, in one image. */
interface TestRunTable {
  /** id of the folder */
  workspace: string;
  /** id of git's tree of the files */
  tree: string;
  /** id of the image */
  environment: string;
  run: Json<TestRun>;
  ran_at: Seen;
}
/** What is known of a project besides its files. */
interface ProjectProfileTable {
  host: string;
  workspace: string;
  said: Defaulted<Commands>;
  checked: NullableJson<Checked>;
  flaky: Defaulted<string[]>;
  /** the last question whether it may be checked, while nobody has said yes to it */
  asked: NullableJson<AskedCheck>;
  /** the last check that a person asked for, until it begins */
  wanted: NullableJson<WantedCheck>;
}

/** A log-in of the browser of a chat. */
export interface BrowserLoginTable {
  chat_id: string;
  name: string;
  /** where it counts */
  hosts: Json<string[]>;
  /** cookies and storage, encrypted */
  sealed: Buffer;
  saved_at: Created;
}

export interface KennelDatabase {
  own_content: OwnContentTable;
  browser_logins: BrowserLoginTable;
  kennel_hosts: KennelHostTable;
  workspaces: WorkspaceTable;
  workspace_shares: WorkspaceShareTable;
  tasks: TaskTable;
  shipments: ShipmentTable;
  shipment_remarks: ShipmentRemarkTable;
  races: RaceTable;
  task_log: TaskLogTable;
  task_usage: TaskUsageTable;
  task_egress: TaskEgressTable;
  egress_asks: EgressAskTable;
  egress_rules: EgressRuleTable;
  setup_scripts: SetupScriptTable;
  task_words: TaskWordsTable;
  task_spending: TaskSpendingTable;
  model_limits: ModelLimitTable;
  signatures: SignatureTable;
  test_runs: TestRunTable;
  project_profiles: ProjectProfileTable;
}
