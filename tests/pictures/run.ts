import { mkdirSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../../src/config.ts';
import { startWorld } from '../stories/world.ts';
import { FETCH_SETTING, startTestApp } from '../support/app.ts';
import { kennelReady } from '../support/kennel-app.ts';
import { goTo, letIn, openBrowser } from '../support/owner-page.ts';
import { fillPage, PLAIN_TEXTS } from '../support/page-content.ts';
import { openPty } from '../support/pty.ts';
import { person, TelegramServer } from '../support/telegram/server.ts';
import { until } from '../support/until.ts';
import { countsAsShown } from '../support/whatsapp-app.ts';
import { cast, type Message, phone, type Shot } from './draw.ts';
import { PICTURES } from './pictures.ts';

/**
 * `npm run pictures [-- NAME…]`: makes the pictures of README and docs. Everything in them was said and shown by a real
 * instance; where a model answers, it is the practice model.
 */

const FOLDER = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const PRACTICE = { OPENAI_BASE_URL: '', OPENAI_API_KEY: '', AGENT_MODEL: '' };
const keep = (name: keyof typeof PICTURES, content: string | Buffer): void => {
  writeFileSync(`${FOLDER}${name}`, content);
  console.log(`docs/images/${name}`);
};

/** A task, a question and an approval on WhatsApp. */
async function conversation(): Promise<void> {
  const world = await startWorld({ ...PRACTICE, GH_TOKEN: '' });
  const { ann, app } = world;
  const messages: Message[] = [];
  const says = async (text: string): Promise<void> => {
    messages.push({ mine: true, text });
    await ann.says(text);
  };
  const sees = async (like: RegExp): Promise<void> => {
    const message = await ann.sees(like);
    // as WhatsApp shows its marks
    const text = message.shown.text.replace(/[*_`]/g, '').replace(/^> /gm, '▏ ');
    messages.push({ mine: false, text: text.replace(/\n{3,}/g, '\n\n') });
    await countsAsShown(app, message);
  };
  try {
    await says('Hi');
    await sees(/^Hello/);
    await says('create workspace demo');
    await sees(/Created demo/);
    ann.forgets();
    await says('task');
    await sees(/working in demo/);
    await sees(/Which name/);
    await says('1');
    await sees(/^Done in/);
    ann.forgets();
    await says('run: cat hello.txt');
    await sees(/Run this/);
    await says('yes');
    await sees(/hello/);
  } finally {
    await world.close();
  }
  keep('conversation.svg', phone('Fetch', 'A conversation on WhatsApp', messages));
}

/** A new bot on Telegram, from the link that the terminal shows to the report of the first task. */
async function telegram(): Promise<void> {
  const server = await TelegramServer.start();
  const app = await startTestApp({ ...PRACTICE, ...server.env, GH_TOKEN: '', FETCH_PROGRESS_SECONDS: '3600' });
  const ann = person(300_001, 'Ann');
  const messages: Message[] = [];
  let seen = 0;
  const says = (text: string, shown = text): void => {
    messages.push({ mine: true, text: shown });
    seen = server.shown.length;
    server.writes(ann, text);
  };
  const sees = async (like: RegExp): Promise<void> => {
    const shown = await until(`a message with ${like}`, () =>
      server.shown.slice(seen).find(({ chat, text }) => chat === ann.id && like.test(text)),
    );
    const buttons = shown.buttons.map(({ text }) => `[ ${text} ]`);
    messages.push({ mine: false, text: [shown.text.replace(/\n{3,}/g, '\n\n'), ...buttons].join('\n') });
  };
  try {
    await kennelReady(app);
    const bot = () => app.store.db.selectFrom('tg_bots').select('id').where('username', '!=', '').executeTakeFirst();
    await until('the bot is known', bot);
    const thread = await app.thread();
    await app.say(thread, 'telegram');
    const link = /https:\/\/t\.me\/\w+\?start=([\w-]+)/;
    const code = await until('the link is shown', async () => link.exec(JSON.stringify(await app.detail(thread)))?.[1]);
    says(`/start ${code}`, '/start');
    await sees(/your own chat/);
    says('create workspace demo');
    await sees(/Created demo/);
    says('task');
    await sees(/working in demo/);
    await sees(/Which name/);
    says('1');
    await sees(/^Done in/);
  } finally {
    await app.close();
    await server.close();
  }
  keep('telegram.svg', phone('Fetch', 'A new bot on Telegram, up to the report of its first task', messages));
}

const SIZE = { cols: 84, rows: 17 };
const CAST_MS = 20_000;

/** A question that stays open while every process of an instance but its supervisor is killed. */
async function kill(): Promise<void> {
  const app = await startTestApp(PRACTICE);
  const shots: Shot[] = [];
  let below = '';
  const clean = Object.fromEntries(Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name)));
  const terminal = openPty('chat', { ...clean, ...app.settings }, '', SIZE);
  const film = setInterval(() => shots.push({ at: Date.now(), output: terminal.shown(), below }), 100);
  const typed = async (text: string, key: (char: string) => void): Promise<void> => {
    for (const char of text) {
      key(char);
      await pause(60);
    }
    await pause(600);
  };
  try {
    await terminal.sees(/practice|Hello/i);
    await pause(1_500);
    await typed('ask me about lunch', terminal.press);
    terminal.press('\r');
    await terminal.sees('Nothing today');
    await pause(1_500);
    const pids = app.state().roles.flatMap(({ name, pid }) => (['worker', 'api'].includes(name) && pid ? [pid] : []));
    await typed(`kill -9 ${pids.join(' ')}`, (char) => {
      below += char;
    });
    app.kill('worker');
    app.kill('api');
    await terminal.sees('connected again');
    await app.whenReady();
    await pause(2_000);
    await typed('2', terminal.press);
    terminal.press('\r');
    await terminal.sees(/You chose/);
    await pause(4_000);
  } finally {
    clearInterval(film);
    await terminal.close();
    await app.close();
  }
  keep('kill.svg', await cast(shots, SIZE, CAST_MS));
}

const SCREEN = { width: 1100, height: 760 };

/** The parts of the owner's page. */
async function page(names: readonly string[]): Promise<void> {
  const [app, browser] = await Promise.all([startTestApp({ FETCH_AUTONOMY: 'supervised' }), openBrowser()]);
  try {
    const content = await fillPage(app, PLAIN_TEXTS);
    // a script of the scripted model is no sentence of a person
    const title = (thread: string, text: string) => app.request('PATCH', `/v1/threads/${thread}`, { title: text });
    await title(content.asking.thread, 'Delivery dates');
    await title(content.approving.thread, 'Tidy at night');
    await app.store.db
      .updateTable('items')
      .set({ summary: 'How far is the checkout?', detail: 'How far is the checkout?' })
      .where('kind', '=', 'user_message')
      .where('detail', 'like', 'SCRIPT:%')
      .execute();
    const parts: Record<string, string[]> = {
      'page-now.png': ['now'],
      'page-chats.png': ['chats', content.thread],
      'page-tasks.png': ['tasks', content.task.id],
      'page-schedules.png': ['schedules'],
      'page-spend.png': ['spend'],
      'page-settings.png': ['settings', 'model'],
    };
    const opened = await letIn(browser, app, { viewport: SCREEN });
    for (const name of names) {
      await goTo(opened.page, ...parts[name]!);
      // below it is what runs, under the first words of scripts
      const height = name === 'page-now.png' ? 590 : SCREEN.height;
      keep(name as keyof typeof PICTURES, await opened.page.screenshot({ clip: { x: 0, y: 0, ...SCREEN, height } }));
    }
  } finally {
    await browser.close();
    await app.close();
  }
}

const given = process.argv.slice(2);
const unknown = given.filter((name) => !Object.hasOwn(PICTURES, name));
if (unknown.length > 0) {
  console.error(`No such picture: ${unknown.join(', ')}. There are: ${Object.keys(PICTURES).join(', ')}`);
  process.exit(2);
}
mkdirSync(FOLDER, { recursive: true });
const wanted = given.length > 0 ? given : Object.keys(PICTURES);
if (wanted.includes('conversation.svg')) await conversation();
if (wanted.includes('telegram.svg')) await telegram();
if (wanted.includes('kill.svg')) await kill();
const ofPage = wanted.filter((name) => name.startsWith('page-'));
if (ofPage.length > 0) await page(ofPage);
