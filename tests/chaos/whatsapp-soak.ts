import { runWhatsAppChaos, type WhatsAppChaosOptions } from './whatsapp.ts';
import { keep } from './whatsapp-keep.ts';
import { runDefaultLibrary } from './whatsapp-peer.ts';
import { compare, type Tally, type WhatsAppKill } from './whatsapp-tally.ts';

/** The long run and, after it, the library's default with the same seed; prints both and returns the exit code. */
export async function soakWhatsApp(options: WhatsAppChaosOptions, folder?: string): Promise<number> {
  const counted = (name: string) => {
    let count = 0;
    return ({ victim, point }: WhatsAppKill): void => {
      count += 1;
      console.log(`${name} ${count}: ${victim}, ${point}`);
    };
  };
  const ours = await runWhatsAppChaos({
    ...options,
    onKill: counted('Fetch'),
    ...(folder && { inspect: (world, kills) => keep(world, kills, folder) }),
  });
  console.log(compare([['Fetch', ours]]));
  for (const finding of findings(ours)) console.log(`- ${finding}`);
  const theirs = await runDefaultLibrary({ ...options, onKill: counted("the library's default") });
  console.log(
    compare([
      ['Fetch', ours],
      ["the library's default", theirs],
    ]),
  );
  return findings(ours).length > 0 ? 1 : 0;
}

const findings = ({ lost, doubled, disordered, unreadable, askedAgain, problems }: Tally): string[] => [
  ...lost,
  ...doubled,
  ...disordered,
  ...unreadable,
  ...askedAgain,
  ...problems,
];
