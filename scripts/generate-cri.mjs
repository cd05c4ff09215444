// Generates TypeScript from src/providers/cri/cri.proto: the messages (src/provider/cri-messages.ts), the tables of the codec
// (src/providers/cri/gen/messages.ts) and the methods of both services (src/providers/cri/gen/methods.ts).
// Run it after a change of the .proto: node scripts/generate-cri.mjs
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const proto = readFileSync(join(root, 'src/providers/cri/cri.proto'), 'utf8').replace(/\/\/.*$/gm, '');

const numbers = new Set(['int32', 'uint32', 'int64', 'uint64', 'double']);
const scalars = new Set([...numbers, 'bool', 'string', 'bytes']);

/** Converts a name to camel case: `cdiDevices` for `CDI_devices`; a name without `_` changes only when its first word is all capitals. */
const camel = (name) =>
  name
    .replace(/^[A-Z]+(?=_)/, (word) => word.toLowerCase())
    .replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

const bodies = (kind, text) =>
  [...text.matchAll(new RegExp(`^${kind} (\\w+) \\{(?:\\}|\\n([^]*?)^\\})$`, 'gm'))].map(
    ([all, name, body = '']) => [all, name, body],
  );
const values = (body) => [...body.matchAll(/(\w+) = (\d+);/g)].map(([, name, value]) => [name, value]);

const enums = new Map();
const messages = new Map();
for (const [, owner, body] of bodies('message', proto)) {
  const nested = [...body.matchAll(/enum (\w+) \{([^}]*)\}/g)];
  for (const [, name, inner] of nested) enums.set(owner + name, values(inner));
  const own = body.replace(/enum \w+ \{[^}]*\}/g, '');
  const fields = [...own.matchAll(/^\s*(repeated |)(map<string, string>|\w+) (\w+) = (\d+);/gm)];
  messages.set(
    owner,
    fields.map(([, repeated, type, name, number]) => ({
      number: Number(number),
      name: camel(name),
      type: nested.some(([, inner]) => inner === type) ? owner + type : type,
      repeated: repeated !== '',
    })),
  );
}
for (const [, name, body] of bodies('enum', proto)) enums.set(name, values(body));

function tsType({ type, repeated }) {
  if (type.startsWith('map<')) return 'Readonly<Record<string, string>>';
  const plain = numbers.has(type) ? 'number' : ({ bool: 'boolean', bytes: 'Uint8Array' }[type] ?? type);
  return repeated ? `readonly ${plain}[]` : plain;
}

const header = `/**
 * The messages of CRI v1 (\`runtime.v1\`) as plain TypeScript values: the vocabulary of {@link ContainerRuntime}.
 *
 * Field names are the proto's in camelCase; every field may be absent and then stands for the proto3 zero value.
 * 64-bit integers are \`number\`: instants in ns since the epoch lose their last 8 bits (256 ns), which orders containers well enough.
 * Made by scripts/generate-cri.mjs from src/providers/cri/cri.proto.
 */
`;
const enumText = ([name, rows]) => `
export const ${name}: {
${rows.map(([key, value]) => `  readonly ${key}: ${value};`).join('\n')}
} = {
${rows.map(([key, value]) => `  ${key}: ${value},`).join('\n')}
};
export type ${name} = (typeof ${name})[keyof typeof ${name}];
`;
const messageText = ([name, fields]) =>
  fields.length === 0
    ? `\nexport type ${name} = Readonly<Record<string, never>>;\n`
    : `\nexport interface ${name} {\n${fields.map((field) => `  readonly ${field.name}?: ${tsType(field)};`).join('\n')}\n}\n`;
writeFileSync(
  join(root, 'src/provider/cri-messages.ts'),
  header + [...enums].map(enumText).join('') + [...messages].map(messageText).join(''),
);

/** Formats a field as `[number, name, kind]`; the kind of an enum is int32, that of a map `{}`, that of a list starts with `[]`. */
function row({ number, name, type, repeated }) {
  const kind = type.startsWith('map<') ? '{}' : enums.has(type) ? 'int32' : type;
  if (!scalars.has(kind) && kind !== '{}' && !messages.has(kind))
    throw new Error(`cri.proto: unknown type ${type}`);
  return `[${number}, '${name}', '${repeated ? '[]' : ''}${kind}']`;
}
const made = '// Made by scripts/generate-cri.mjs from cri.proto.\n';
writeFileSync(
  join(root, 'src/providers/cri/gen/messages.ts'),
  `${made}
/** A field on the wire: its number, its name here, its kind. A list's kind starts with \`[]\`; \`{}\` is a map of strings. */
export type FieldRow = readonly [number: number, name: string, kind: string];

/** The fields of every message. */
export const messages: Readonly<Record<MessageName, readonly FieldRow[]>> = {
${[...messages].map(([name, fields]) => `  ${name}: [${fields.map(row).join(', ')}],`).join('\n')}
};

export type MessageName =
${[...messages.keys()].map((name) => `  | '${name}'`).join('\n')};
`,
);

const calls = bodies('service', proto).flatMap(([, service, body]) =>
  [...body.matchAll(/rpc (\w+)\((\w+)\) returns \((stream |)(\w+)\);/g)].map(
    ([, method, request, stream, response]) => ({
      service,
      method,
      request,
      stream: stream !== '',
      response,
    }),
  ),
);
const used = [...new Set(calls.flatMap(({ request, response }) => [request, response]))].sort();
const typesOf = (stream) =>
  calls
    .filter((call) => call.stream === stream)
    .map(({ method, request, response }) => `  ${method}: { request: ${request}; response: ${response} };`)
    .join('\n');
writeFileSync(
  join(root, 'src/providers/cri/gen/methods.ts'),
  `${made}import type {
${used.map((name) => `  ${name},`).join('\n')}
} from '../../../provider/cri-messages.ts';
import type { MessageName } from './messages.ts';

/** Calls with one answer. */
export interface UnaryMethods {
${typesOf(false)}
}

/** Calls whose answers come one by one. */
export interface StreamMethods {
${typesOf(true)}
}

export interface MethodRow {
  readonly path: string;
  readonly request: MessageName;
  readonly response: MessageName;
}

${[
  ['unaryMethods', 'UnaryMethods', false],
  ['streamMethods', 'StreamMethods', true],
]
  .map(
    ([name, type, stream]) => `export const ${name}: Readonly<Record<keyof ${type}, MethodRow>> = {
${calls
  .filter((call) => call.stream === stream)
  .map(
    ({ service, method, request, response }) =>
      `  ${method}: { path: '/runtime.v1.${service}/${method}', request: '${request}', response: '${response}' },`,
  )
  .join('\n')}
};`,
  )
  .join('\n\n')}
`,
);
