import type { ImageView } from '../../app/images.ts';
import { ageText } from './table.ts';

const heads = ['IMAGE', 'ID', 'SIZE', 'AGE', 'CONTAINERS'];

/** Returns the table of images: a row for each tag, or for a digest of an image without tags. Pure. */
export function imageLines(images: readonly ImageView[], now: number): readonly string[] {
  const rows = images.flatMap((image) =>
    namesOf(image).map((name) => [
      name,
      shortId(image.id),
      sizeText(image.size),
      ageText(now - image.createdAt),
      String(image.containers),
    ]),
  );
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  return [heads, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

const namesOf = ({ tags, digests }: ImageView): readonly string[] =>
  tags.length > 0 ? tags : [digests[0] ?? '<none>'];

/** Returns an amount of bytes in decimal units, as image tools print it. */
export function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit] ?? ''}`;
}

/** Returns the first digits of a digest, as of an image id. */
export const shortId = (digest: string): string => digest.replace(/^\w+:/, '').slice(0, 12);
