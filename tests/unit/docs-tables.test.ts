import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'dotenv';
import { describe, expect, it } from 'vitest';
import { withTable } from '../../scripts/docs/page.ts';
import { listSettings, settingsPage } from '../../scripts/docs/settings-page.ts';
import { envExample, FILES, TABLES } from '../../scripts/docs/tables.ts';
import { settings } from '../../src/config.ts';
import { scheduleWithNext } from '../../src/domain/chat/words/schedule-words.ts';
import { toldToPerson } from '../../src/domain/chat/words/step-words.ts';
import { isConstant, isListed } from '../../src/domain/settings/listed.ts';
import { isLive } from '../../src/domain/settings/shapes.ts';
import { limitNotice } from '../../src/domain/tasks/agents/limit-notice.ts';
import { type TestRun, verdictOf } from '../../src/domain/tasks/checks/verdict.ts';
import { english } from '../../src/domain/texts/say.ts';
import { texts } from '../../src/page/texts.ts';

const file = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

/** Pages that people look things up in; nobody reads them from beginning to end. */
const REFERENCE = ['differences.md', 'failed-once.md', 'licences.md', 'tools.md'];
const pages = readdirSync(new URL('../../docs/', import.meta.url)).filter(
  (page) => page.endsWith('.md') && !REFERENCE.includes(page),
);

describe('what "npm run docs" writes', () => {
  it.each(TABLES)('is renewed: the table of $name in $page', async ({ page, name, text }) => {
    expect(file(page)).toBe(withTable(file(page), name, await text()));
  });

  it.each(FILES)('defect 50: is renewed: $file', ({ file: name, text }) => expect(file(name)).toBe(text()));

  it('needs its two comments in the page', () => {
    expect(() => withTable('# Fetch\n', 'settings', '')).toThrow(/needs the lines/);
  });
});

describe('the documented settings', () => {
  it('are at most eighty, each with what it means, once', () => {
    const listed = listSettings();
    expect(listed.length).toBeLessThanOrEqual(80);
    const page = settingsPage();
    expect(page).toContain('| `FETCH_RUNTIME_PORT` | `7878` |');
    for (const { name, meaning } of listed) {
      expect(meaning, name).not.toBe('');
      expect(page.split(`\n| \`${name}\``), name).toHaveLength(2);
    }
  });

  it('have a star where they apply without a restart', () => {
    const page = settingsPage();
    for (const { name } of listSettings())
      expect([name, page.includes(`\n| \`${name}\`\\* |`)]).toEqual([
        name,
        isLive(settings[name as keyof typeof settings]),
      ]);
  });

  it('are all but constants and what others bring; no page names a constant', () => {
    const named = listSettings().map(({ name }) => name);
    expect(named).toEqual(Object.keys(settings).filter(isListed));
    for (const page of pages)
      for (const [name] of file(`docs/${page}`).matchAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g))
        expect([page, name, isConstant(name)]).toEqual([page, name, false]);
  });

  it('are on the page of their need where the list does not have them', () => {
    const where = [...pages.map((page) => `docs/${page}`), 'docker-compose.yml', 'deploy/healthy.sh'].map(file).join();
    for (const name of Object.keys(settings))
      if (!isConstant(name))
        expect([name, where.includes(name.replace('OTEL_EXPORTER_OTLP_', '_'))]).toEqual([name, true]);
  });

  it('have lines of at most 120 characters in the example', () => {
    expect(
      envExample()
        .split('\n')
        .filter((line) => line.length > 120),
    ).toEqual([]);
  });

  it('change nothing when the example is copied as it is, beyond what Docker Compose starts', () => {
    expect(parse(envExample())).toEqual({ COMPOSE_PROFILES: 'full' });
  });
});

describe('what a person has to read', () => {
  it('is a README of at most 8 KB', () => expect(Buffer.byteLength(file('README.md'))).toBeLessThanOrEqual(8 * 1024));

  it('is at most twelve pages, with 25,000 words in all and the README', () => {
    const read = ['README.md', ...pages.map((page) => `docs/${page}`)];
    const words = read.flatMap((page) => file(page).trim().split(/\s+/));
    expect([pages.length, words.length]).toEqual([Math.min(pages.length, 12), Math.min(words.length, 25_000)]);
  });

  it('has at most 40 known limits', () => {
    const limits = file('docs/reliability.md')
      .split('\n## Known limits\n')[1]!
      .match(/^\d+\. /gm)!;
    expect(limits.length).toBeLessThanOrEqual(40);
  });

  it('begins each page with its question: what it is about comes before the first heading', () => {
    for (const page of pages) expect(file(`docs/${page}`), page).toMatch(/^# .+\n\n(?!#)/);
  });
});

describe('the ten jobs of the page about chats', () => {
  const rows = file('docs/chat.md')
    .split('\n## Ten jobs\n')[1]!
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.split(' | '));

  it('say how many words are read until the point', () => {
    expect(rows.length).toBe(10);
    for (const [job, , says = '', count] of rows)
      expect([job, says.replace('**…**', '').trim().split(/\s+/).length]).toEqual([job, Number.parseInt(count!, 10)]);
  });

  it('are told in the words that Fetch uses', () => {
    const limit = { kind: 'limit', named: true, opensAt: Date.now() } as const;
    const tests: TestRun = {
      state: 'ended',
      command: 'npm test',
      code: 0,
      ms: 1,
      cases: [{ name: 'adds', outcome: 'passed', ms: 1 }],
    };
    const edits = { weakened: [], settings: [] };
    const daily = { schedule: '30 8 * * MON-FRI', timeZone: 'Europe/Berlin', enabled: true };
    const said = [
      toldToPerson('Created task tsk_1: go → claude in shop. '),
      `Done in shop${verdictOf({ after: tests, before: tests, edits }).headline}:`,
      limitNotice({ harness: 'claude', workspace: 'shop' }, limit, { zone: 'UTC', others: [] }).replace(
        /until .*?\./,
        'until 04:10.',
      ),
      scheduleWithNext(daily, new Date('2026-11-27T12:00:00Z')),
      english('failure.ModelUnauthorized'),
      texts.spend.periodTotal(7),
      english('task.asks', { workspace: 'shop' }),
      english('trusted.added', { phone: '491701234567' }),
      [
        english('undo.done', { changes: english('undone.gone', { files: 'dark.css' }) }),
        english('undo.commit'),
        english('undo.redo'),
      ].join(' '),
    ];
    const page = rows.flat().join('\n').replaceAll('`', '');
    for (const words of said) expect(page).toContain(words.replaceAll('`', ''));
    // these are written where they are said
    const written: Record<string, string> = {
      'moving to a server': 'src/cli/home/move/import-home.ts',
      'removing it': 'src/cli/setup/background/stop.ts',
    };
    for (const [job, source] of Object.entries(written)) {
      const [, , says = ''] = rows.find(([name]) => name === `| ${job}`)!;
      const words = says.replaceAll('/home/ada/.fetch', '…');
      const there = file(source)
        .replaceAll(/\$\{\w+\}/g, '…')
        .replaceAll('\\`', '`');
      expect(there, job).toContain(words);
    }
  });
});
