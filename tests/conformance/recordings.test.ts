import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadExchanges, loadGolden, RecordedStreams, recordings } from './golden.ts';
import { backgroundNotCompared, type NotCompared, notCompared, notCopied, streamsNotCompared } from './not-compared.ts';

/**
 * Nothing that was recorded of the reference is forgotten: it is compared, or docs/differences.md says why it is not.
 */

const names = recordings();
const listed: NotCompared[] = [...notCompared, ...streamsNotCompared, ...backgroundNotCompared, ...notCopied];
const of = (list: readonly NotCompared[]) => (name: string) => list.some(({ cases }) => cases.test(name));

/** What the files beside `recordings.txt` have. Their own tests fail when they do not compare all of it. */
const copied = new Set([
  ...loadGolden().map((each) => each.case),
  ...new RecordedStreams().neverAsked(),
  ...['tasks.jsonl', 'automations.jsonl', 'automations-rrule.jsonl'].flatMap((file) =>
    loadExchanges(file).map((each) => each.case),
  ),
  ...['cli', 'stdio'].flatMap((file) => loadExchanges(`${file}.jsonl`).map((_, at) => `${file}/${at + 1}`)),
]);

it('every recording has a copy here, or is listed', () => {
  expect(names.filter((name) => !copied.has(name) && !of(notCopied)(name))).toEqual([]);
  expect(names.filter((name) => copied.has(name) && of(notCopied)(name))).toEqual([]);
});

it('everything that is listed was recorded', () => {
  const all = [...names, ...copied];
  expect(listed.filter(({ cases }) => !all.some((name) => cases.test(name))).map(({ why }) => why)).toEqual([]);
});

it('docs/differences.md names the recordings that no test compares, and no others', () => {
  const docs = readFileSync(join(import.meta.dirname, '../../docs/differences.md'), 'utf8');
  const section = docs.split('\n## ').find((part) => part.startsWith('Recordings that are not compared'))!;
  const told = section
    .split('\n')
    .flatMap((row) =>
      row.startsWith('| `') ? [...row.split(' | ')[0]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!) : [],
    );
  expect(told.toSorted()).toEqual(names.filter(of(listed.filter(({ by }) => by === undefined))).toSorted());
});

it('a test that is said to compare recordings exists', () => {
  for (const { by } of listed) if (by) expect(readFileSync(join(import.meta.dirname, by), 'utf8')).toBeTruthy();
});

if (process.env.FETCH_GOLDEN)
  it('is about these recordings', () => {
    const folder = process.env.FETCH_GOLDEN!;
    const found = readdirSync(folder).flatMap((file) =>
      readFileSync(join(folder, file), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line, at) => nameOf(file.replace(/\.jsonl$/, ''), at + 1, (JSON.parse(line) as { case?: string }).case)),
    );
    expect(found.toSorted()).toEqual(names.toSorted());
  });

const nameOf = (file: string, line: number, name: string | undefined): string =>
  name === undefined ? `${file}/${line}` : name.includes('/') ? name : `${file}/${name}`;
