/** What many answers of `/v1/owner/...` have. */

/** A request that a button makes. */
export interface OwnerAction {
  /** `again`: try again. `seen`: take it off the list */
  name: 'stop' | 'pause' | 'resume' | 'undo' | 'redo' | 'again' | 'seen' | 'run' | 'remove';
  method: 'POST' | 'DELETE';
  path: string;
  /** null: no body */
  body: Record<string, unknown> | null;
}

/** Where something belongs. */
export interface OwnerChat {
  thread_id: string;
  channel: string;
  /** title of the thread, else the name of the person or group, else what the channel is called */
  name: string;
  /** several people write in it */
  group: boolean;
}
