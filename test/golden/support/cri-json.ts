/** CRI messages between the recordings' proto names (`memory_limit_in_bytes`) and ours (`memoryLimitInBytes`). */

/** Maps whose keys are data, not field names. */
const dictionaries = new Set(['labels', 'annotations', 'unified', 'sysctls', 'info']);

const camel = (key: string): string =>
  key.replace(/_([a-z0-9])/g, (_match, char: string) => char.toUpperCase());
/** Fields whose proto name is not snake case. */
const odd: Readonly<Record<string, string>> = {
  uidMappings: 'uidMappings',
  gidMappings: 'gidMappings',
  cdiDevices: 'CDI_devices',
};
const snake = (key: string): string => odd[key] ?? key.replace(/[A-Z]/g, (char) => `_${char.toLowerCase()}`);

function rename(value: unknown, spell: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => rename(item, spell));
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      spell(key),
      dictionaries.has(key) ? (inner as unknown) : rename(inner, spell),
    ]),
  );
}

/** A recorded message as ours. */
export const fromProtoJson = (value: unknown): unknown => rename(value, camel);

/** Our message as recorded: proto names, bytes in base64. */
export const toProtoJson = (value: unknown): unknown => rename(value, snake);
