/**
 * What the host must know of a coding agent; how it is run stands beside it, in `profile.ts`. Facts are data: they
 * import facts and nothing else, and no image holds them, so that a new host to log in to builds no image again.
 */
export interface AgentFacts {
  /** its name for people */
  label: string;
  /**
   * The model that it works with. null: it has none, takes goals and answers as they stand, and runs in the image of
   * the tools (practice).
   */
  model: AgentModel | null;
  /** the log-in of its own that it may have instead of a key */
  login: AgentLogin;
  /**
   * The image of others that has its program, which is used as it is; `workspace`: the folder where it looks for its
   * files. Without it, the program is installed (`packages`).
   */
  image?: { name: string; workspace: string };
  /** what docs/coding-tasks.md says of it besides; so does the remark of the log-in */
  remark?: string;
}

interface AgentModel {
  /**
   * What it speaks through the gate. `openai` leads to the endpoint of the chats, so that AGENT_MODEL names its model
   * too.
   */
  protocol: 'anthropic' | 'openai' | 'gemini';
  /** with `openai`: OpenAI itself does not serve it without the name of a model either */
  mustBeNamed?: boolean;
}

interface AgentLogin {
  /**
   * Hosts that it reaches then, beside those of FETCH_KENNEL_EGRESS: where models are called and log-ins renewed, and
   * none that it only reports to.
   */
  hosts: readonly string[];
  remark?: string;
}
