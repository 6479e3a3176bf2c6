import { validatePhoneNumberLength } from 'libphonenumber-js/min';
import { UserError } from '../../../contracts/user-error.ts';
import { phoneOf } from '../../../domain/whatsapp/identity.ts';

const reasons: Record<string, string> = {
  TOO_SHORT: 'it is too short',
  TOO_LONG: 'it is too long',
  INVALID_LENGTH: 'no number of that country has so many digits',
  INVALID_COUNTRY: 'no country has such a code',
  NOT_A_NUMBER: 'it is no number',
};

/**
 * The digits of a number that a code can be asked for. Throws an Error for the person: nothing was asked of anybody by
 * then.
 */
export function phoneToPair(written: string): string {
  const digits = phoneOf(written);
  const wrong =
    digits === null
      ? /^\D*0/.test(written)
        ? 'it does not say the country'
        : 'it is no number'
      : reasons[validatePhoneNumberLength(`+${digits}`) ?? ''];
  if (digits === null || wrong)
    throw new UserError(
      `${written} cannot be paired: ${wrong}. Write the number in international form, such as +49 170 1234567.`,
    );
  return digits;
}
