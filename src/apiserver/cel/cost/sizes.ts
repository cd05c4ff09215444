/** The least and the most that something can be: a size, or a cost. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** The greatest number that costs are counted to, as of 64 bits. */
export const mostCost: number = 2 ** 64;

const capped = (value: number): number => Math.min(value, mostCost);

export const exactly = (value: number): Range => ({ min: value, max: value });
export const unknownSize: Range = { min: 0, max: mostCost };

export const add = (...ranges: readonly Range[]): Range => ({
  min: capped(ranges.reduce((sum, { min }) => sum + min, 0)),
  max: capped(ranges.reduce((sum, { max }) => sum + max, 0)),
});
export const multiply = (a: Range, b: Range): Range => ({
  min: capped(a.min * b.min),
  max: capped(a.max * b.max),
});
/** Multiplies by a factor and rounds up. */
export const scale = ({ min, max }: Range, factor: number): Range => ({
  min: capped(Math.ceil(min * factor)),
  max: capped(Math.ceil(max * factor)),
});
export const union = (a: Range, b: Range): Range => ({
  min: Math.min(a.min, b.min),
  max: Math.max(a.max, b.max),
});
