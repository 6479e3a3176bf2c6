import { script } from '../support/app.ts';
import type { Contact } from '../support/whatsapp/contact.ts';
import type { WhatsAppFixture } from '../support/whatsapp/fixture.ts';
import type { ReceivedMessage } from '../support/whatsapp/handset.ts';
import { startWhatsAppApp } from '../support/whatsapp-app.ts';
import type { Part } from './bench.ts';
import { figures, type Row } from './figures.ts';
import { activitiesOf, steps } from './turns.ts';

/** From the moment a person sends a text to the moment the reply is on the phone; the model answers at once. */
export const whatsappTurn: Part = {
  name: 'whatsapp-turn',
  title: 'WhatsApp, end to end: text sent to reply shown (ms)',
  async run({ app, bare, taker, pick }) {
    const rounds = pick(3, 20, 100);
    let ann!: Contact;
    const world = await startWhatsAppApp((fixture) => {
      ann = fixture.contact('Ann');
      return { WHATSAPP_NUMBER: 'dedicated', OWNER_PHONE_NUMBER: ann.pn.split('@')[0]!, WHATSAPP_RATE_LIMIT: '100000' };
    });
    try {
      const take = async (text: string, answer: string): Promise<number> => {
        const begun = performance.now();
        const reply = shown(world.fixture, ann, answer);
        await ann.send(text);
        await reply;
        return performance.now() - begun;
      };
      for (let at = 0; at < 3; at++) await take(script([{ say: `warm ${at}.` }]), `warm ${at}.`);
      const thread = await app.thread();
      const [turns, words, asked, http, theirs]: number[][] = [[], [], [], [], []];
      for (let at = 0; at < rounds; at++) {
        turns!.push(await take(script([{ say: `reply ${at}.` }]), `reply ${at}.`));
        words!.push(await take('help', 'ends what runs'));
        // an answer to an open question is not held back to see whether more follows
        await take(
          script([{ call: [['ask_user', { question: `Go on ${at}?` }]] }, { say: `went on ${at}.` }]),
          `Go on ${at}?`,
        );
        asked!.push(await take('yes', `went on ${at}.`));
        http!.push((await taker.take(thread, steps(0))).sent);
        theirs!.push(await bare.run(activitiesOf(0)));
      }
      const row = (what: string, activities: number | string, values: number[]): Row => ({
        what,
        activities,
        ...figures(values),
      });
      return [
        row('text to reply, the second that a burst may last included', activitiesOf(0), turns!),
        row('answer to an open question to reply: nothing is waited for', activitiesOf(0), asked!),
        row('"help" to reply: without the model', 1, words!),
        row('a turn over HTTP until it is marked as sent', activitiesOf(0), http!),
        row('a bare workflow', activitiesOf(0), theirs!),
      ];
    } finally {
      await world.close();
    }
  },
};

const shown = ({ hooks }: WhatsAppFixture, who: Contact, text: string): Promise<void> =>
  new Promise((resolve) => {
    const seen = (message: ReceivedMessage, handset: unknown) => {
      if (handset !== who || message.by !== 'client' || !message.text.includes(text)) return;
      hooks.off('shown', seen);
      resolve();
    };
    hooks.on('shown', seen);
  });
