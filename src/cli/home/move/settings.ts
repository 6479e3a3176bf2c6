import { settings } from '../../../config.ts';

/** Which settings of a home hold on a server. */

/**
 * Where a home is, which servers and ports it has, and what it does with its machine: each installation has its own.
 */
const OWN =
  /^(FETCH_HOME|FETCH_HOST|FETCH_[A-Z_]*PORT|TEMPORAL_|DATABASE_|FETCH_PREPARE_STATEMENTS|FETCH_PAYLOAD_KEYS|FETCH_ENCRYPTION_KEY|FETCH_BUILD_ID|FETCH_WORKSPACES?$|FETCH_BACKUP_|FETCH_METRICS_|FETCH_HEALTH_FILE|FETCH_SEPARATE_PROCESSES|FETCH_ON_LEAVE|FETCH_KENNEL_(BASE|LOGINS|MIRRORS|MEMORY_MB|CPUS|PIDS|SLOTS|DISK_MB|FREE_MB)|FETCH_BROWSER_SLOTS|FETCH_MCP_CONFIG|DOCKER_HOST|WA_)/;
const THIS_MACHINE = /(^|[^\w.-])(localhost|127\.\d+\.\d+\.\d+|\[::1\])([^\w.-]|$)/i;

export interface HeldSettings {
  /** set from now on */
  taken: Record<string, string>;
  /** names, each with the reason */
  left: Array<{ name: string; why: string }>;
}

/** Pure: `theirs` are those of the home, `ours` those in the `.env` here, which stay. */
export function heldSettings(
  theirs: Readonly<Record<string, string>>,
  ours: Readonly<Record<string, string>>,
): HeldSettings {
  const held: HeldSettings = { taken: {}, left: [] };
  for (const [name, value] of Object.entries(theirs)) {
    if (value.trim() === '') continue;
    const why = whyNot(name, value, ours[name]);
    if (why === null) held.taken[name] = value;
    else if (why !== '') held.left.push({ name, why });
  }
  return held;
}

/** Null: it is taken. Empty: nothing needs to be said. */
function whyNot(name: string, value: string, here: string | undefined): string | null {
  if (here === value) return '';
  if (OWN.test(name)) return 'each installation has its own';
  const known = Object.hasOwn(settings, name);
  if (!known && name.endsWith('_FILE') && Object.hasOwn(settings, name.slice(0, -'_FILE'.length)))
    return `the secret is in ${value}, which is not moved: put it on the server, and set ${name} there`;
  if (!known) return 'it is no setting of Fetch';
  if (here?.trim()) return 'it has another value here, which stays';
  if (THIS_MACHINE.test(value)) return 'it names the machine of the home: set it to an address that the server reaches';
  if (/^(\/|~\/|[A-Za-z]:\\)/.test(value)) return 'it names a file of the machine of the home';
  const parsed = settings[name as keyof typeof settings].safeParse(value);
  return parsed.success ? null : parsed.error.issues.map(({ message }) => message).join('; ');
}
