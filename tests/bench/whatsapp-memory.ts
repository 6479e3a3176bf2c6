import { script } from '../support/app.ts';
import { until } from '../support/until.ts';
import type { Contact } from '../support/whatsapp/contact.ts';
import { startWhatsAppApp } from '../support/whatsapp-app.ts';
import type { Part } from './bench.ts';
import { type Row, round } from './figures.ts';
import { usageByRole } from './processes.ts';

/** So many people have written and are not answered yet. */
const AT_ONCE = 50;

/** Memory of every role before and after so many people had a turn each on WhatsApp. */
export const whatsappMemory: Part = {
  name: 'whatsapp-memory',
  title: 'WhatsApp, memory with many chats, one turn in each',
  async run({ pick }) {
    const chats = pick(30, 1_000, 1_000);
    let people: Contact[] = [];
    const world = await startWhatsAppApp((fixture) => {
      people = Array.from({ length: chats }, (_, at) => fixture.contact(`person ${at}`));
      return {
        WHATSAPP_NUMBER: 'dedicated',
        TRUSTED_PHONE_NUMBERS: people.map(({ pn }) => pn.split('@')[0]).join(','),
      };
    });
    try {
      const idle = usageByRole(world.app);
      const begun = performance.now();
      const queue = [...people];
      const lane = async (): Promise<void> => {
        for (let who = queue.shift(); who; who = queue.shift()) {
          const person = who;
          await person.send(script([{ say: 'hello to you' }]));
          await until(
            `${person.name} is answered`,
            () => person.received.some(({ shown }) => shown.text === 'hello to you'),
            300_000,
          );
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, lane));
      const seconds = (performance.now() - begun) / 1000;
      const after = usageByRole(world.app);
      return Object.keys(after).map(
        (role): Row => ({
          role,
          chats,
          'linked, idle MB': round(idle[role]?.memoryMb ?? 0, 0),
          'after MB': round(after[role]!.memoryMb, 0),
          'KB a chat': round(((after[role]!.memoryMb - (idle[role]?.memoryMb ?? 0)) * 1024) / chats, 0),
          'turns/s': round(chats / seconds, 1),
        }),
      );
    } finally {
      await world.close();
    }
  },
};
