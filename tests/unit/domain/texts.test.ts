import { globSync, readFileSync } from 'node:fs';
import { parse, TYPE } from '@formatjs/icu-messageformat-parser';
import { describe, expect, it } from 'vitest';
import { greetingText, shortHelp } from '../../../src/domain/chat/words/help.ts';
import { momentInWords, scheduleInWords } from '../../../src/domain/chat/words/schedule-words.ts';
import { kindOf, labelText } from '../../../src/domain/consent/kinds.ts';
import { unknownOutcome } from '../../../src/domain/failures.ts';
import { tooSmallText } from '../../../src/domain/model/context-size.ts';
import { tellFailure } from '../../../src/domain/model/failure-text.ts';
import { questionText, toldText } from '../../../src/domain/shipping/texts.ts';
import { nameProblem } from '../../../src/domain/tasks/workspace-names.ts';
import { suggestion } from '../../../src/domain/text/nearest.ts';
import { failureAgain, noteAgain, resultAgain, sayAgain, sayWhole } from '../../../src/domain/texts/again.ts';
import { languageIn, languageOf } from '../../../src/domain/texts/language.ts';
import {
  CATALOGUE,
  english,
  type Language,
  onUntranslated,
  sayIn,
  type TextKey,
} from '../../../src/domain/texts/say.ts';
import { namedPlaces, wholeName } from '../../../src/store/owner/places.ts';

type Part = ReturnType<typeof parse>[number];
interface Names {
  /** said as they are */
  said: Set<string>;
  /** they only choose a form */
  chosen: Set<string>;
}

function namesIn(text: string): Names {
  const names: Names = { said: new Set(), chosen: new Set() };
  const read = (parts: readonly Part[]): void => {
    for (const part of parts) {
      if (part.type === TYPE.argument) names.said.add(part.value);
      else if (part.type === TYPE.plural || part.type === TYPE.select) {
        names.chosen.add(part.value);
        for (const { value } of Object.values(part.options)) read(value);
      } else if (part.type !== TYPE.literal && part.type !== TYPE.pound) throw new Error(`Unusual: ${text}`);
    }
  };
  read(parse(text, { ignoreTag: true }));
  return names;
}

const languages = Object.keys(CATALOGUE) as Language[];
const keys = Object.keys(CATALOGUE.en) as TextKey[];

describe.each(languages)('the texts in %s', (language) => {
  const texts = CATALOGUE[language] as Record<string, string>;

  it('are as many as in English, in the same order', () => {
    expect(Object.keys(texts)).toEqual(keys);
  });

  it('have the placeholders of the English texts', () => {
    const wrong = keys.filter((key) => {
      const [own, usual] = [namesIn(texts[key]!), namesIn(CATALOGUE.en[key])];
      const [ours, all] = [
        [...own.said, ...own.chosen],
        [...usual.said, ...usual.chosen],
      ];
      // a form may be the same for every number
      const missing = [...usual.said].some((name) => !own.said.has(name) && !usual.chosen.has(name));
      return missing || ours.some((name) => !all.includes(name));
    });
    expect(wrong).toEqual([]);
  });

  it('name the same words to type', () => {
    const typed = (text: string) => (text.match(/`[^`]+`/g) ?? []).sort().join(' ');
    // an example may be in the language of the person
    const compared = keys.filter((key) => !/^(?:try|schedules\.none)/.test(key));
    expect(compared.filter((key) => typed(texts[key]!) !== typed(CATALOGUE.en[key]))).toEqual([]);
  });

  it('are said without a missing value or a fallback', () => {
    const fallen: string[] = [];
    onUntranslated((in_) => void fallen.push(in_));
    const say = sayIn(language);
    expect(say('status.quiet', { count: 2, time: '7:00' })).toContain('7:00');
    expect(say('hello.named', { name: '{x} <b>' })).toContain('{x} <b>');
    expect(say.list(['a', 'b', 'c'])).toMatch(/^a, b,? \S+ c$/);
    expect(greetingText({ practice: false, tasks: true }, 'Ada', say).split('\n')).toHaveLength(8);
    for (const practice of [true, false])
      for (const tasks of [true, false]) {
        const help = shortHelp({ practice, tasks }, say);
        expect(help).not.toMatch(/undefined|[{}]/);
        // a sign alone is no word, as before a colon in French
        const words = help.match(/\S*[\p{L}\p{N}]\S*/gu)!.length;
        expect([practice, tasks, words, words >= 55 && words <= 80]).toEqual([practice, tasks, words, true]);
      }
    expect(fallen).toEqual([]);
  });
});

it('a language without texts gets English ones, and each is counted', () => {
  const fallen: string[] = [];
  onUntranslated((language) => void fallen.push(language));
  expect(sayIn('ja-JP')('end.stopped')).toBe(english('end.stopped'));
  expect(sayIn('ja')('ask.command', { at: ' in demo' })).toBe('Run this command in demo?');
  expect(fallen).toEqual(['ja', 'ja']);
});

it('the language that was asked for comes before the one that is written', () => {
  expect(languageOf({})).toBe('en');
  expect(languageOf({ writes: 'de' })).toBe('de');
  expect(languageOf({ writes: 'de', language: 'pt-BR' })).toBe('pt-BR');
  expect(sayIn('pt-BR')('routine.done')).toBe('Feito.');
});

it('times are those of the language', () => {
  const at = new Date('2026-11-30T08:00Z');
  const now = new Date('2026-11-27T08:00Z');
  expect(momentInWords(at, 'Europe/Berlin', now, sayIn('de'))).toBe('am Mo. 30. Nov. um 09:00');
  expect(momentInWords(at, 'Europe/Berlin', at, sayIn('es'))).toBe('a las 09:00');
  expect(scheduleInWords('30 8 * * MON-FRI', sayIn('fr'))).toBe('chaque jour de semaine à 8:30');
  expect(scheduleInWords('0 9 * * MON,FRI', sayIn('de'))).toBe('jeden Montag und Freitag um 9:00');
  expect(scheduleInWords('*/5 * * * *', sayIn('pt'))).toBe('a cada 5 minutos');
  expect(scheduleInWords('0 8 1 * *', sayIn('hi'))).toBe('every month on the 1st at 8:00');
});

describe('a sentence that was made in English', () => {
  const say = sayIn('de');

  it.each([
    [
      'Undone: a.txt is gone again. Redo brings it back.',
      'Rückgängig gemacht: a.txt ist wieder weg. „redo“ holt es zurück.',
    ],
    [
      'Undone (2 edits and 1 command): a.txt, b c.txt and 3 more are gone again, d. e is back. Its commit is taken back, too. x.txt changed since the task and stay as they are. Redo brings it back.',
      'Rückgängig gemacht (2 Bearbeitungen und 1 Befehl): a.txt, b c.txt und 3 weitere sind wieder weg, d. e ist zurück. Der Commit ist auch zurückgenommen. x.txt: seit der Aufgabe geändert und bleibt, wie es ist. „redo“ holt es zurück.',
    ],
    [
      'Rebase is in progress; finish or abort it first. Nothing was changed.',
      'Rebase ist im Gange; schließ das erst ab oder brich es ab. Es wurde nichts geändert.',
    ],
    [
      'The account of Codex at its model provider has no credit left. Add some there, or put in the key of another account on my page, under Settings. (It said: no credit. Pay.)',
      'Das Konto von Codex beim Anbieter des Modells hat kein Guthaben mehr. Lade es dort auf, oder trag auf meiner Seite unter Settings den Schlüssel eines anderen Kontos ein. (Es sagte: no credit. Pay.)',
    ],
  ])('is said in the language of the person: %s', (made, said) => {
    expect(sayAgain(made, say)).toBe(said);
    expect(sayAgain(made, english)).toBe(made);
  });

  it('stays as it is where it is not ours', () => {
    for (const text of ['', 'Undone', 'It is gone. There is nothing to undo.', 'x'.repeat(10_000)])
      expect(sayAgain(text, say)).toBe(text);
    expect(sayAgain('There is nothing to undo. Or is there?', say)).toMatch(/machen\. Or is there\?$/);
  });

  it.each(['verdict.', 'untested.', 'story.'] as const)(
    'of the family %s is said again, whatever its values are',
    (family) => {
      const values = {
        count: 7,
        before: 9,
        now: 8,
        command: 'npm test -- a. b',
        file: '`src/a b.test.ts`',
        names: '`a > b`',
        workspace: 'demo',
        host: 'one',
        other: 'two',
        agent: 'codex',
        reason: 'Odd.',
      };
      for (const key of keys.filter((each) => each.startsWith(family))) {
        const made = (english as (key: TextKey, values: object) => string)(key, values);
        expect(sayWhole(made, family, say)).toBe((say as (key: TextKey, values: object) => string)(key, values));
        expect(sayWhole(made, family, english)).toBe(made);
      }
      expect(sayWhole('Another sentence.', family, say)).toBe('Another sentence.');
      expect(sayWhole('No longer there: `a`, `b. c` and 3 more.', 'verdict.', say)).toBe(
        'Nicht mehr da: `a`, `b. c` und 3 weitere.',
      );
    },
  );

  it('of a workflow has the wording of its text, and its reason is said again, too', () => {
    const sources = globSync('src/workflows/coding-task/*.ts').map((file) => readFileSync(file, 'utf8'));
    const isSaid = (part: string) => part === '' || sources.join('').includes(part);
    const pieces = keys
      .filter((key) => key.startsWith('story.'))
      .flatMap((key) => CATALOGUE.en[key].split(/\{\w+\}/).map((part) => part.trim()));
    expect(pieces.filter((part) => !isSaid(part))).toEqual([]);
    const gone = english('story.gone', { workspace: 'demo', reason: english('why.container') });
    expect(sayWhole(gone, 'story.', say)).toMatch(/^Der Agent in demo: Der Container ist weg\. Er macht /);
  });

  it('of a command that is a tool is said again line by line, without what a program has printed', () => {
    expect(resultAgain('No app is running.', say)).toBe('Es läuft keine App.');
    expect(
      resultAgain('Stopped `npm start` in demo.\n\nWhat it printed last:\nNo app is running.\nFolder: /tmp', say),
    ).toBe('`npm start` in demo ist beendet.\n\nDie letzte Ausgabe:\nNo app is running.\nFolder: /tmp');
    expect(resultAgain('1: npm start in demo, http://127.0.0.1:1/\n\nready\nFolder: /tmp', say)).toMatch(
      /\n\nready\nFolder: \/tmp$/,
    );
    expect(
      resultAgain(
        'Brought in demo (Node, on main); it is the active workspace. Folder: /home/a b/demo\nIt is a copy: /home/a b is not changed. "git pull /x" there brings in what is done here.',
        say,
      ),
    ).toBe(
      'demo (Node, on main) ist da und ist jetzt das aktive Projekt. Ordner: /home/a b/demo\nEs ist eine Kopie: /home/a b wird nicht verändert. „git pull /x“ holt dort herein, was hier getan wird.',
    );
    expect(
      resultAgain('Which one?\n1: x in demo, running, listens on no port yet\nSay for example: app stop 1', say),
    ).toBe('Welche?\n1: x in demo, läuft, hört noch auf keinem Port\nSchreib zum Beispiel: app stop 1');
    expect(resultAgain('There is nothing to undo.', say)).toBe(sayAgain('There is nothing to undo.', say));
  });

  it('about the changes of a task is said again, with its lists', () => {
    const made =
      'Nothing is committed yet, because it is much: 900 new files, 31.0 MB more. Look at the files, then say "commit" or "undo". Ignored files were changed: a.log, b c.log and 3 more; "undo" takes that back.';
    expect(noteAgain(made, say)).toBe(
      'Noch ist nichts committet, weil es viel ist: 900 new files, 31.0 MB more. Sieh dir die Dateien an, dann schreib „commit“ oder „undo“. Ignorierte Dateien wurden geändert: a.log, b c.log und 3 weitere; „undo“ nimmt das zurück.',
    );
    const sources = globSync('kennel/workspace/checkpoint/*.ts').map((file) => readFileSync(file, 'utf8'));
    const pieces = keys
      .filter((key) => key.startsWith('note.'))
      .flatMap((key) => CATALOGUE.en[key].split(/\{\w+\}|(?<=^They) /).map((part) => part.trim()));
    expect(pieces.filter((part) => !sources.join('').includes(part))).toEqual([]);
  });

  it('of a failed turn is said again', () => {
    const german = sayIn('de');
    const failed = (refusal: string, known: Partial<Parameters<typeof tooSmallText>[1]>) =>
      tellFailure(
        {
          type: 'ContextOverflow',
          message: tooSmallText(refusal, { context: undefined, needed: undefined, local: true, ...known }),
        },
        german,
      );
    expect(failed('n_ctx', { context: 4096, needed: 9000 })).toBe(
      'Der Kontext dieses Modells ist zu klein: Es hat 4,096 Tokens, und diese Anfrage braucht etwa 9,000. Starte llama.cpp mit einem größeren `-c`, oder wähle auf meiner Seite unter Settings, Model ein anderes Modell.',
    );
    const refusals = [
      'read only a part of the request',
      'n_ctx',
      'greater than the context length',
      'maximum context length',
    ];
    for (const refusal of [...refusals, 'other'])
      for (const known of [{}, { context: 10 }, { needed: 20 }, { context: 10, needed: 20 }, { local: false }])
        expect(failed(refusal, known)).not.toMatch(/\b(?:The|Choose|choose|Raise|needs|with a larger)\b/);
    expect(tellFailure({ type: 'NotFound', message: 'Odd.' }, german)).toBe('Odd.');
    expect(failureAgain(unknownOutcome('step'), german)).toBe(
      'Was aus diesem Schritt wurde, ist nicht bekannt: Der Prozess, in dem er lief, endete zu früh. Vielleicht ist er geschehen, vielleicht nicht; von selbst läuft er nicht noch einmal.',
    );
    expect(failureAgain('Its task is not there any more.\n\nThe words of an agent. Nothing was done.', german)).toBe(
      'Die Aufgabe dazu ist nicht mehr da.\n\nThe words of an agent. Nothing was done.',
    );
  });

  it('about a pull request is said again, with its reason', () => {
    const at = { name: '#3 "Add a login"', url: null };
    const reason = english('github.mayNot', { why: 'Resource not accessible', needs: 'contents=write' });
    expect(toldText('not pushed', at, reason, say)).toBe(
      'Auf #3 "Add a login" wurde nichts gepusht. Das GitHub-Token darf das nicht (403: Resource not accessible). Es braucht den Scope repo, oder als Fine-grained-Token die Rechte contents=write.',
    );
    expect(toldText('not pushed', at, reason)).toBe(`Nothing was pushed to #3 "Add a login". ${reason}`);
    expect(toldText('no agent', at, `${english('agent.none')} Words of others.`, say)).toMatch(
      /Kein Programmier-Agent ist bereit\. Words of others\.$/,
    );
    expect(toldText('working', at, 'Checks have failed, There are remarks', say)).toBe(
      'Checks sind fehlgeschlagen, Es gibt Anmerkungen: Ein Programmier-Agent arbeitet an #3 "Add a login".',
    );
    expect(questionText('merge', at, 'Every check has passed, and a reviewer wants changes.', say)).toMatch(
      /Alle Checks sind durch, und jemand möchte Änderungen\.$/,
    );
    expect(questionText('merge', at, 'Odd.', say)).toMatch(/ Odd\.$/);
    expect(
      resultAgain(
        '#3 "a: b": is watched; failed: lint, test https://x.y/3\ndemo: is being made\nx: is watched, too',
        say,
      ),
    ).toBe(
      '#3 "a: b": wird beobachtet; fehlgeschlagen: lint, test https://x.y/3\ndemo: wird gestellt\nx: is watched, too',
    );
  });

  it('about a pull request has the wording of its text where a workflow says it', () => {
    const sources = globSync('src/workflows/shipment/*.ts').map((file) => readFileSync(file, 'utf8'));
    const said = keys.filter((key) => /^ship\.(?:cause|review)\./.test(key)).map((key) => CATALOGUE.en[key]);
    expect(said.filter((text) => !sources.join('').includes(text))).toEqual([]);
    expect(said.length).toBeGreaterThan(8);
  });

  it.each(keys.filter((key) => /^(?:github|agent|clone|name)\./.test(key)))(
    'of a tool is found by its wording: %s',
    (key) => {
      const values = Object.fromEntries([...namesIn(CATALOGUE.en[key]).said].map((name) => [name, `«${name}»`]));
      const [made, said] = [english, say].map((in_) => (in_ as (key: TextKey, values: object) => string)(key, values));
      expect(sayAgain(`${made}\nMore.`, say)).toBe(`${said}\nMore.`);
    },
  );

  it('about groups of one name is said again with how many are in each, and either name is known', () => {
    const club = (members: number) => ({ name: 'Club', channel: 'telegram' as const, members });
    const names = [wholeName(club(4)), wholeName(club(9))];
    expect(resultAgain(english('did.severalGroups', { groups: names.join(', ') }), say)).toBe(
      'Mehrere Gruppen heißen so: Club (Telegram, 4 Mitglieder), Club (Telegram, 9 Mitglieder). Nenne den ganzen Namen einer davon.',
    );
    for (const name of ['Club (Telegram, 9 members)', 'club (telegram, 9 Mitglieder)', 'Club (Telegram, 9 सदस्य)'])
      expect(namedPlaces([club(4), club(9)], name)).toEqual([club(9)]);
    expect(namedPlaces([club(4), club(9)], 'Club (Telegram)')).toHaveLength(2);
  });

  it('about a kind of action is said again, as it is stored', () => {
    const label = (name: string, args: object) => labelText(kindOf(name, args as never)!.label, say);
    expect(label('shell_run', { command: 'npm test', cwd: 'web' })).toBe('`npm test` im Ordner web');
    expect(label('shell_run', { command: 'npm test' })).toBe('`npm test`');
    expect(label('file_delete', { path: 'a.txt' })).toBe('das Löschen von `a.txt`');
    expect(label('file_delete', { path: 'dist/a.js' })).toBe('das Löschen von Dateien in `dist`');
  });

  it.each(keys.filter((key) => /^(?:link|because)\./.test(key)))(
    'about a channel is found by its wording: %s',
    (key) => {
      const values = Object.fromEntries([...namesIn(CATALOGUE.en[key]).said].map((name) => [name, `«${name}»`]));
      const [made, said] = [english, say].map((in_) => (in_ as (key: TextKey, values: object) => string)(key, values));
      expect(sayWhole(made!, key.startsWith('link.') ? 'link.' : 'because.', say)).toBe(said);
    },
  );

  it('about a name is said again, with what was probably meant', () => {
    const of = (names: string[]) =>
      resultAgain(`${english('name.noWorkspace', { name: '"dmo"' })}${suggestion('dmo', names)}`, say);
    expect(of(['demo'])).toBe('Es gibt kein Projekt "dmo". Meinst du demo?');
    expect(of(['website', 'backend'])).toBe('Es gibt kein Projekt "dmo". Es gibt: website, backend.');
    expect(resultAgain(nameProblem('my site')!, say)).toBe(
      '"my site" ist kein Name für ein Projekt: ein Leerzeichen ist nicht erlaubt, nur Buchstaben von a bis z, Ziffern, - und _. my-site wäre einer.',
    );
  });

  it('of a tool has the wording of its text', () => {
    const sources = globSync('src/tools/**/*.ts').map((file) =>
      readFileSync(file, 'utf8').replace(/\\`/g, '`').replaceAll('git_commit', 'git commit'),
    );
    const pieces = keys
      .filter((key) => key.startsWith('did.') && !sources.some((source) => source.includes(`english('${key}'`)))
      .flatMap((key) => CATALOGUE.en[key].split(/\{\w+\}/).map((part) => part.replace(/^[,:]/, '').trim()));
    expect(pieces.filter((part) => !sources.join('').includes(part))).toEqual([]);
  });

  it('of a container has a text', () => {
    const made = globSync('kennel/workspace/undo/*.ts').map((file) => readFileSync(file, 'utf8'));
    const literals = made
      .join('\n')
      .matchAll(
        /(?:OwnRefusal|Refusal|notes\.push)\(\s*(?:'([^']+)'|`((?:[^`$]|\$\{[^{}`]*(?:`[^`]*`[^{}`]*)*(?:\{[^}]*\}[^{}]*)*\})+)`)/g,
      );
    const unknown = [...literals].flatMap(([, plain, filled]) => {
      const sentence = (plain ?? filled!)
        .replace(/\$\{what\}/, 'The files')
        .replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, 'a');
      const whole = /[.!]$/.test(sentence) ? sentence : `${sentence}.`;
      return sayAgain(whole, say) === whole ? [whole] : [];
    });
    expect(made.join('').match(/Refusal\(/g)!.length).toBeGreaterThan(10);
    expect(unknown).toEqual([]);
  });
});

describe('the language of a message', () => {
  it.each<[Language, string[]]>([
    [
      'en',
      ['fix the login tests in demo', 'what is running', 'hello there', 'tell me a joke', 'What do you do in Perl?'],
    ],
    ['de', ['hallo', 'mach die Tests in demo wieder grün', 'was läuft gerade', 'Kannst du den Login reparieren?']],
    ['es', ['hola', '¿qué hora es?', 'haz una página que muestre la hora', 'borra el archivo por favor']],
    ['pt', ['oi', 'que horas são?', 'faz uma página que mostra a hora', 'Você pode ler esta página?']],
    [
      'fr',
      [
        'bonjour',
        'quelle heure est-il ?',
        "rappelle-moi d'appeler Anne demain",
        'la page a été cassée',
        'supprime le fichier stp',
      ],
    ],
    ['hi', ['नमस्ते', 'लॉगिन के टेस्ट ठीक करो']],
  ])('is %s', (language, messages) => {
    for (const message of messages) expect([message, languageIn(message)]).toEqual([message, language]);
  });

  it.each(languages)('is never another one for our own texts in %s', (language) => {
    const read = Object.values(CATALOGUE[language]).map((text) => languageIn(text));
    expect(read.filter((found) => found !== null && found !== language)).toEqual([]);
    expect(read.filter((found) => found === language).length).toBeGreaterThan(read.length * 0.4);
  });

  it.each([
    ...[
      'npm test',
      'yes',
      '2',
      'commit and push',
      'use die() in main',
      'delete src/index.ts',
      '/task claude in demo: go',
    ],
    ...[
      'ログインのテストを直して',
      'исправь тесты входа',
      'ik wil een website voor mijn bakkerij',
      'say "der die das"',
    ],
    ...['read https://example.com/de/der-die-das', '```\nder die das ist nicht\n```'],
  ])('is not clear: %s', (message) => {
    expect(languageIn(message)).toBeNull();
  });
});
