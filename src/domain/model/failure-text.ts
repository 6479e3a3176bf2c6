import { cut } from '../text/storable.ts';
import { failureAgain } from '../texts/again.ts';
import { english, type Say } from '../texts/say.ts';
import { TOO_SMALL } from './context-size.ts';

/** Failures with a text of their own. Any other one is told as its message. */
const TOLD = [
  ...(['ModelUnauthorized', 'ModelPaymentRequired', 'ModelNotFound', 'ModelRejected'] as const),
  ...(['ContextOverflow', 'ModelRateLimited', 'ModelUnavailable', 'ModelStreamBroken'] as const),
];

/** How much of an endpoint's own words a person is shown, in characters. */
const THEIR_WORDS = 200;

/**
 * The text for the person: our sentence with what to do, then what the endpoint said when it was a model's endpoint.
 */
export function tellFailure({ type, message }: { type: string; message: string }, say: Say = english): string {
  const told = TOLD.find((each) => each === type);
  if (!told || message.startsWith(TOO_SMALL)) return failureAgain(message, say);
  const text = say(`failure.${told}`);
  const theirs = message.replace(/\s+/g, ' ').trim();
  return theirs === '' || theirs === english(`failure.${told}`)
    ? text
    : `${text} ${say('failure.said', { words: cut(theirs, THEIR_WORDS) })}`;
}
