import { expect, it } from 'vitest';
import { type SharedApp, useSharedApp } from '../../../support/shared-app.ts';
import { until } from '../../../support/until.ts';

/** Our own texts follow the language that a person writes, or has asked for. */

let app: SharedApp;
useSharedApp((shared) => {
  app = shared;
});

async function told(thread: string, text: string): Promise<string> {
  expect((await app.say(thread, text)).kind, text).toBe('reply');
  return (await app.detail(thread)).items.findLast((item) => item.kind === 'agent_message')!.detail!;
}
const asked = (thread: string) =>
  until('an approval is asked for', () =>
    app.store.db
      .selectFrom('questions')
      .innerJoin('outbox', (join) =>
        join.onRef('outbox.turn_id', '=', 'questions.turn_id').on('outbox.kind', '=', 'question'),
      )
      .select(['questions.id', 'questions.prompt', 'outbox.body'])
      .where('questions.thread_id', '=', thread)
      .where('questions.state', '=', 'open')
      .executeTakeFirst(),
  );
const decisionOf = async (id: string) =>
  (await app.store.db.selectFrom('questions').select('decision').where('id', '=', id).executeTakeFirstOrThrow())
    .decision;

it('a greeting is answered in its language, and what follows, too', async () => {
  const thread = await app.thread();
  expect(await told(thread, '¡Hola!')).toMatch(/^¡Hola(?:, .+)?! Escribe con tus palabras lo que necesitas\./);
  expect(await told(thread, 'stop')).toBe('No hay nada en marcha, así que no hay nada que parar.');
  expect(await told(thread, 'ayuda')).toMatch(/^Escribe con tus palabras/);
  expect(await told(thread, 'remind me to stretch in 20 minutes')).toMatch(/^Te lo recuerdo a las .*: stretch$/);
});

it('a person who writes English again gets English again', async () => {
  const thread = await app.thread();
  expect(await told(thread, 'Guten Tag')).toMatch(/^Hallo/);
  expect(await told(thread, 'status')).toContain('Gerade läuft nichts.');
  const { turn_id: turn } = await app.say(thread, 'What is the weather like?');
  await app.ended(thread, turn!);
  expect(await told(thread, 'status')).toContain('Nothing is running.');
});

it('an approval is asked and answered in the language of the chat', async () => {
  const thread = await app.thread();
  await told(thread, 'Guten Tag');
  const turn = await app.turn(thread, [{ call: [['workspace_delete', { name: 'demo' }]] }, { say: 'Gut.' }]);
  const { id, prompt, body } = await asked(thread);
  expect(prompt).toBe('Soll ich den Workspace "demo" löschen?');
  expect(body).toMatch(/Antworte mit ja, nein oder „immer“, damit ich nicht mehr frage\.$/);
  await app.say(thread, 'Nein.');
  await app.ended(thread, turn);
  expect(await decisionOf(id)).toBe('deny');
});

it('the language that a person has asked for comes first', async () => {
  const thread = await app.thread();
  const turn = await app.turn(thread, [{ call: [['preferences', { language: 'French' }]] }, { say: 'Noted.' }]);
  await app.ended(thread, turn);
  expect(await told(thread, 'stop')).toBe('Rien ne tourne, il n’y a donc rien à arrêter.');
});

it('help, preferences and lists are in German', async () => {
  const thread = await app.thread();
  await told(thread, 'Guten Tag');
  const help = await told(thread, 'help tasks');
  expect(help).toContain('`tasks` zeigt die Programmieraufgaben dieses Chats');
  expect(help).not.toMatch(/\b(?:the|lists|shows|takes)\b/);
  expect(await told(thread, 'help all')).toMatch(/^Wörter, die ohne Modell gehen:\n- .*\n\nGut zu wissen:\n- /s);
  expect(await told(thread, 'preferences')).toMatch(
    /^Ausführlichkeit: normal\nSprache: die der jeweiligen Nachricht\nZeitzone: .* \(wie in allen Chats\)\n/,
  );
  expect(await told(thread, 'tasks')).toMatch(/^In diesem Chat läuft keine Programmieraufgabe\./);
});

it('what is asked about preferences, and what they are, is in Hindi', async () => {
  const thread = await app.thread();
  await told(thread, 'नमस्ते');
  expect(await told(thread, 'help schedules')).toContain('अपने-आप क्या चलता है');
  const turn = await app.turn(thread, [
    { call: [['preferences', { autonomy: 'autonomous', brevity: 'short' }]] },
    { say: 'ठीक है।' },
  ]);
  const { id, prompt, body } = await asked(thread);
  expect(prompt).toMatch(/^इस चैट की पसंद बदलें: .*आज़ादी .*autonomous.*\?$/);
  expect(body).toMatch(/हाँ, नहीं, या आगे से न पूछने के लिए “हमेशा” लिखिए।$/);
  await app.say(thread, 'नहीं');
  await app.ended(thread, turn);
  expect(await decisionOf(id)).toBe('deny');
  expect(await told(thread, 'preferences')).toMatch(/^विस्तार: सामान्य\nभाषा: हर संदेश की अपनी\n/);
});

it('projects, and what tasks may reach, are told in Portuguese', async () => {
  const thread = await app.thread();
  await told(thread, 'Olá!');
  expect(await told(thread, '/project nowhere')).toMatch(/^Não há nenhum projeto nowhere\./);
  expect(await told(thread, 'egress')).toMatch(/^Este chat ainda não tem projeto\./);
  expect(await told(thread, 'egress remove example.com')).toBe(
    'Não há nenhuma regra sobre example.com aqui. Diga `egress` para ver o que há.',
  );
});

it('who may write, models, groups, rules, plans and names of commits are told in German', async () => {
  const thread = await app.thread();
  await told(thread, 'Guten Tag');
  const said: Array<[string, RegExp]> = [
    ['trust list', /^Nur du darfst mir schreiben\. `trust add \+49 170 1234567` erlaubt es jemand anderem\.$/],
    ['trust add telegram', /^Telegram ist nicht eingerichtet\./],
    ['shares', /^Kein Projekt ist geteilt\.$/],
    [
      'share nowhere with +49 170 1234567',
      /^\+491701234567 darf mir nicht schreiben\. Schreib erst `trust add \+491701234567`/,
    ],
    ['groups', /^Ich bin noch in keiner Gruppe\./],
    ['rules', /^Ich habe hier noch nach keiner Aktion in einem Projekt gefragt\.$/],
    ['plan', /^Große Programmieraufgaben beginnen hier mit einem Plan\. `plan: add a login page` verlangt einen;/],
    ['judged', /^Ab jetzt frage ich vor Gefährlichem\. Antworte „always for this project“, und ich tue dort dasselbe/],
    [
      'sign as Ada Lovelace <ada@example.com>',
      /^Commits sind ab jetzt von Ada Lovelace <ada@example\.com>, mit Unterschrift\./,
    ],
    ['sign', /^Commits sind von Ada Lovelace <ada@example\.com>\. Ändere das mit /],
    ['version', /^Fetch \d\S*, auf Node v\d/],
  ];
  for (const [words, answer] of said) expect(await told(thread, words), words).toMatch(answer);
  expect(await told(thread, 'model')).not.toMatch(/\b(?:answers|There are|calls no tools|latest)\b/);
});

it('what the owner has brought along, and commands that are tools, are told in French', async () => {
  const thread = await app.thread();
  await told(thread, 'Bonjour');
  expect(await told(thread, 'tools')).toMatch(/^Tu n’as rien apporté\./);
  expect(await told(thread, 'tools show nothing')).toBe('Je ne connais pas nothing. `tools` liste ce qu’il y a.');
  const { turn_id: turn } = await app.say(thread, 'ship status');
  await app.ended(thread, turn!);
  const said = (await app.detail(thread)).items.findLast((item) => item.kind === 'agent_message');
  expect(said?.detail).toMatch(/^Il n’y a pas encore de jeton GitHub, donc rien[\s\S]*commit/);
});
