// Sorts the fields of src/apimachinery/api-types.json in the order of the Go structs, in which Go serializes them, and marks strings that
// have their own
// type there: `string~DNSPolicy`.
// Run it after scripts/api-types.mjs: node scripts/api-order.mjs API_DIR APIMACHINERY_DIR
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [api, machinery] = process.argv.slice(2);
const file = join(import.meta.dirname, '../src/apimachinery/api-types.json');
const types = JSON.parse(readFileSync(file, 'utf8'));
const groups =
  'core apps batch policy rbac storage scheduling coordination node discovery events authentication authorization certificates networking autoscaling admissionregistration flowcontrol resource'.split(
    ' ',
  );
const folders = [
  [join(machinery, 'pkg/apis/meta/v1'), ''],
  ...groups.map((group) => [join(api, group, 'v1'), `${group[0].toUpperCase()}${group.slice(1)}V1`]),
  [join(api, 'certificates/v1beta1'), 'V1beta1'],
];

const structs = new Map();
const texts = new Set(['types.UID']);
for (const [folder, prefix] of folders) {
  if (!existsSync(join(folder, 'types.go'))) continue;
  const text = readFileSync(join(folder, 'types.go'), 'utf8');
  for (const [, name] of text.matchAll(/^type (\w+) string$/gm)) texts.add(name);
  for (const [, name, body] of text.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
    const members = [...body.matchAll(/^\t(\w[\w.]*)\b *([^`\n]*?) *`(?:[^`]* )?json:"([^",]*)/gm)].map(
      ([, field, of, json]) => (json === '' ? { embedded: field.split('.').at(-1) } : { json, of }),
    );
    const key = `${prefix}${name}` in types ? `${prefix}${name}` : name;
    if (!structs.has(key)) structs.set(key, members);
    if (!structs.has(name)) structs.set(name, members);
  }
}

const membersOf = (struct) =>
  (structs.get(struct) ?? []).flatMap((member) => (member.embedded ? membersOf(member.embedded) : [member]));

for (const [type, fields] of Object.entries(types)) {
  const members = membersOf(type);
  const order = new Map(
    ['kind', 'apiVersion', ...members.map(({ json }) => json)].map((name, i) => [name, i]),
  );
  const rank = (name) => order.get(name) ?? order.size;
  const sorted = Object.entries(fields).sort(([a], [b]) => rank(a) - rank(b));
  types[type] = Object.fromEntries(
    sorted.map(([name, text]) => {
      const of = members.find(({ json }) => json === name)?.of.replace(/^(\*|\[\]|map\[\w+\])*/, '') ?? '';
      return [name, texts.has(of) ? text.replace(/string(~[\w.]+)?(!?)$/, `string~${of}$2`) : text];
    }),
  );
}
writeFileSync(
  file,
  `{\n${Object.entries(types)
    .map(([name, fields]) => `  ${JSON.stringify(name)}: ${JSON.stringify(fields)}`)
    .join(',\n')}\n}\n`,
);
