import type { Random } from '../../base/random.ts';
import { type JsonObject, metadataOf, stringAt } from '../../apimachinery/json.ts';

const letters = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns five random characters that form no words, the end of generated names. */
export function randomSuffix(random: Random): string {
  let text = '';
  for (let i = 0; i < 5; i++) text += letters[Math.floor(random.float() * letters.length)] ?? 'x';
  return text;
}

/** Maximum length of the prefix of a generated name. */
export const longestPrefix = 58;

/** Returns the name that admission sees: names are generated after it, so it may be the prefix. */
export function admittedName(object: JsonObject | undefined): string {
  const metadata = metadataOf(object);
  return stringAt(metadata, 'name') || stringAt(metadata, 'generateName') || 'Unknown';
}
