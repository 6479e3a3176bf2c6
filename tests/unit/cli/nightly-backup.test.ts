import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backupFinding } from '../../../src/cli/checks/backup.ts';
import { backupName, keptBackups } from '../../../src/cli/instance/home/kept-backups.ts';
import { isDue } from '../../../src/cli/instance/nightly-backup.ts';
import { collectBackups } from '../../../src/cli/roles/metrics/collect.ts';
import { loadConfig } from '../../../src/config.ts';
import { scrape } from '../../../src/telemetry/registry.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-backups-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (text: string): Date => new Date(text);
function made(when: string): string {
  const file = join(folder, backupName(at(when)));
  writeFileSync(file, '');
  utimesSync(file, at(when), at(when));
  return file;
}
const due = (now: string, time = '03:30') => isDue({ FETCH_BACKUP_FOLDER: folder, FETCH_BACKUP_AT: time }, at(now));

describe('the backup of a night', () => {
  it('is due when there is none, also where the folder is not there', () => {
    expect(due('2026-03-01T12:00:00')).toBe(true);
    rmSync(folder, { recursive: true });
    expect(due('2026-03-01T12:00:00')).toBe(true);
  });

  it('is due from its time on, once', () => {
    made('2026-03-01T03:31:00');
    expect(due('2026-03-01T23:59:00')).toBe(false);
    expect(due('2026-03-02T03:29:00')).toBe(false);
    expect(due('2026-03-02T03:30:00')).toBe(true);
    made('2026-03-02T03:30:05');
    expect(due('2026-03-02T03:31:00')).toBe(false);
  });

  it('is made up for when the machine slept through its time', () => {
    made('2026-03-01T03:30:00');
    expect(due('2026-03-02T08:00:00')).toBe(true);
    expect(due('2026-03-09T02:00:00')).toBe(true);
  });
});

it('lists the newest first, and nothing that it did not name', () => {
  writeFileSync(join(folder, 'holiday.jpg'), '');
  writeFileSync(join(folder, 'fetch-mine.backup'), '');
  const [old, young] = [made('2026-03-01T03:30:00'), made('2026-03-02T03:30:00')];
  expect(keptBackups(folder).map(({ file }) => file)).toEqual([young, old]);
});

describe('fetch doctor', () => {
  const finding = (settings: Record<string, string>, now = '2026-03-02T12:00:00') =>
    backupFinding(loadConfig(settings, {}), at(now));

  it('says nothing where none is wanted', () => expect(finding({})).toEqual([]));

  it('names the newest and its age, and warns when a night was missed, when there is none, and when none can be made', () => {
    const wanted = { FETCH_BACKUP_FOLDER: folder, FETCH_BACKUP_KEY: 'correct horse' };
    expect(finding(wanted)).toMatchObject([{ state: 'warning', detail: expect.stringContaining('none in') }]);
    const file = made('2026-03-02T03:30:00');
    expect(finding(wanted)).toMatchObject([{ state: 'ok', detail: `the newest is 8 h old: ${file}` }]);
    expect(finding(wanted, '2026-03-03T12:00:00')).toMatchObject([
      { state: 'warning', detail: `the newest is 32 h old: ${file}` },
    ]);
    expect(finding({ FETCH_BACKUP_FOLDER: folder })).toMatchObject([
      { state: 'warning', detail: expect.stringContaining('FETCH_BACKUP_KEY') },
    ]);
  });
});

it('is a figure for Prometheus: how old the newest one is, and endless before the first', async () => {
  const end = collectBackups({ FETCH_BACKUP_FOLDER: folder });
  try {
    const shown = async () => /^fetch_backup_age_seconds (\S+)$/m.exec(await scrape(1_000))?.[1];
    expect(await shown()).toBe('+Inf');
    const file = made('2026-03-01T03:30:00');
    const before = new Date(Date.now() - 7_200_000);
    utimesSync(file, before, before);
    expect(Math.round(Number(await shown()) / 60)).toBe(120);
  } finally {
    end();
  }
});
