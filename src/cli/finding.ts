/** `warning`: works, with less. `mend` is a command, or null when there is nothing to mend. */
export interface Finding {
  name: string;
  state: 'ok' | 'warning' | 'missing';
  version: string | null;
  detail: string;
  mend: string | null;
}
