/** What the library's types do not tell yet: numbers as they are written. */
const json = JSON as unknown as {
  parse(
    text: string,
    revive: (key: string, value: unknown, at: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): object;
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
};

/** Reads JSON so that `30.0` is written as `30.0` again. */
export const parseExactly = (text: string): unknown =>
  json.parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source
      ? json.rawJSON(source)
      : value,
  );

/** The number that a value stands for, where it stands for one. */
export const plain = (value: unknown): unknown =>
  json.isRawJSON(value) ? (JSON.parse(value.rawJSON) as unknown) : value;

export const isExact = (value: unknown): boolean => json.isRawJSON(value);
