import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Instance } from '../../api/api-deps.ts';
import { type Config, settings } from '../../config.ts';
import type { OwnerBackups, OwnerDoctor, OwnerLogs } from '../../contracts/owner.ts';
import { isSecret } from '../../domain/settings/shapes.ts';
import { backupFinding } from '../checks/backup.ts';
import { webUiLink } from '../checks/web-ui.ts';
import { keptBackups } from '../instance/home/kept-backups.ts';
import { besideText } from '../instance/logs/log-line.ts';
import { isNoise, LOG_NAMES, type LogPlace, readLog } from '../instance/logs/logs.ts';
import { type LogName, logsOf } from '../instance/logs/role-log.ts';
import { askForRestart, isSupervised } from '../instance/supervisor/role-process.ts';

/** Bytes of one log that one answer has of what is new. */
const MOST_NEW = 64 * 1024;

/**
 * What the owner's page asks of the instance: the same as `fetch doctor`, `fetch logs`, `fetch backup` and `fetch ui`
 * say.
 */
export function ownerInstance(config: Config): Instance {
  let diagnosing: Promise<OwnerDoctor> | undefined;
  return {
    diagnose() {
      // everything is tried, so two who ask get one answer
      diagnosing ??= diagnose(config).finally(() => {
        diagnosing = undefined;
      });
      return diagnosing;
    },
    restart: isSupervised() ? askForRestart : null,
    logs: (wanted) => logs(config, wanted),
    backups: () => backups(config),
    temporalUi: (workflow) =>
      webUiLink(
        config,
        `/namespaces/${config.TEMPORAL_NAMESPACE}/workflows${workflow === null ? '' : `/${encodeURIComponent(workflow)}`}`,
      ),
  };
}

/** Loaded when it is asked for: it needs much that a role never needs. */
async function diagnose(config: Config): Promise<OwnerDoctor> {
  const findings = await (await import('../checks/doctor.ts')).diagnose(config);
  return { ok: findings.every(({ state }) => state !== 'missing'), findings };
}

function logs(config: Config, { after, role, limit }: Parameters<Instance['logs']>[0]): OwnerLogs {
  const names = role === null ? LOG_NAMES : logsOf(role as LogName);
  const places = after === null ? new Map<string, LogPlace>() : placesIn(after);
  const read = names.map((name) => ({
    name,
    ...readLog(
      config.FETCH_HOME,
      name,
      places.get(name) ?? { offset: null, at: 0 },
      after === null ? undefined : MOST_NEW,
    ),
  }));
  const shown = read
    .flatMap(({ lines }) => lines)
    .filter((line) => !isNoise(line))
    .sort((a, b) => a.at - b.at);
  const masked = maskOf(config);
  return {
    lines: (after === null ? shown.slice(-limit) : shown).map(({ at, role: of, level, text, fields }) => {
      return { at: new Date(at).toISOString(), role: of, level, text: masked(`${text}  ${besideText(fields)}`.trim()) };
    }),
    next: read.map(({ name, place }) => `${name}:${place.offset ?? 0}:${place.at}`).join(','),
    roles: [...LOG_NAMES],
  };
}

/** @throws RangeError */
function placesIn(after: string): Map<string, LogPlace> {
  const places = after.split(',').map((each) => /^([a-z]{1,20}):(\d{1,15}):(\d{1,15})$/.exec(each));
  if (places.some((place) => place === null)) throw new RangeError('after is none: it is `next` of an earlier answer');
  return new Map(places.map((place) => [place![1]!, { offset: Number(place![2]), at: Number(place![3]) }]));
}

/** No log is to have a secret; should one be there all the same, it is not shown. */
function maskOf(config: Config): (text: string) => string {
  const secrets = Object.entries(settings).flatMap(([name, schema]) => {
    const value = config[name as keyof typeof settings];
    return isSecret(schema) && typeof value === 'string' && value.length >= 8 ? [value] : [];
  });
  return (text) => secrets.reduce((masked, secret) => masked.replaceAll(secret, '********'), text);
}

function backups(config: Config): OwnerBackups {
  const folder = config.FETCH_BACKUP_FOLDER ?? null;
  const found = folder === null ? [] : keptBackups(folder);
  const [finding] = backupFinding(config);
  return {
    folder,
    nightly: folder !== null && config.FETCH_BACKUP_KEY !== undefined,
    backups: found.map(({ file, at }) => ({
      name: basename(file),
      at: at.toISOString(),
      bytes: statSync(file, { throwIfNoEntry: false })?.size ?? 0,
    })),
    problem: finding && finding.state !== 'ok' ? [finding.detail, finding.mend].filter(Boolean).join('. ') : null,
  };
}
