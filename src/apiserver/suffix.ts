import type { Random } from '../base/random.ts';

const letters = 'bcdfghjklmnpqrstvwxz2456789';

/** Five characters that make no words, as generated names end. */
export function randomSuffix(random: Random): string {
  let text = '';
  for (let i = 0; i < 5; i++) text += letters[Math.floor(random.float() * letters.length)] ?? 'x';
  return text;
}
