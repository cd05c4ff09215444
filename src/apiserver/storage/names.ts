import type { Random } from '../../base/random.ts';
import { type JsonObject, metadataOf, stringAt } from '../../apimachinery/json.ts';

const letters = 'bcdfghjklmnpqrstvwxz2456789';

/** Five characters that make no words, as generated names end. */
export function randomSuffix(random: Random): string {
  let text = '';
  for (let i = 0; i < 5; i++) text += letters[Math.floor(random.float() * letters.length)] ?? 'x';
  return text;
}

/** How much of a prefix a generated name has. */
export const longestPrefix = 58;

/** How admission names an object: names are generated after it, so that it knows the prefix at best. */
export function admittedName(object: JsonObject | undefined): string {
  const metadata = metadataOf(object);
  return stringAt(metadata, 'name') || stringAt(metadata, 'generateName') || 'Unknown';
}
