// Writes src/apimachinery/serializer/api-protobuf.json: the numbers that fields have in protobuf bodies, read from the .proto files of
// k8s.io/api.
// Run it after scripts/api-types.mjs: GOMODCACHE=… node scripts/api-protobuf.mjs API_DIR APIMACHINERY_DIR
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [api, machinery] = process.argv.slice(2);
const here = import.meta.dirname;
const types = JSON.parse(readFileSync(join(here, '../src/apimachinery/api-types.json'), 'utf8'));
const packages = [
  [join(machinery, 'pkg/apis/meta/v1'), ''],
  [join(api, 'core/v1'), 'CoreV1'],
  ...(
    'apps/v1 batch/v1 policy/v1 rbac/v1 storage/v1 scheduling/v1 coordination/v1 node/v1 discovery/v1 events/v1 authentication/v1 ' +
    'authorization/v1 certificates/v1 networking/v1 autoscaling/v1'
  )
    .split(' ')
    .map((dir) => [join(api, dir), `${dir[0].toUpperCase()}${dir.slice(1, dir.indexOf('/'))}V1`]),
  [join(api, 'certificates/v1beta1'), 'V1beta1'],
];

const messages = new Map();
for (const [dir, prefix] of packages) {
  const text = readFileSync(join(dir, 'generated.proto'), 'utf8').replace(/\/\/.*$/gm, '');
  for (const [, name, body] of text.matchAll(/^message (\w+) \{([\s\S]*?)^\}/gm)) {
    const fields = {};
    for (const [, type, field, number] of body.matchAll(
      /(?:optional |repeated )?([\w.]+|map<[^>]+>) (\w+) = (\d+);/g,
    ))
      fields[field] = [Number(number), type.split('.').at(-1)];
    const key = `${prefix}${name}` in types ? `${prefix}${name}` : name;
    if (!messages.has(key)) messages.set(key, fields);
    if (!messages.has(name)) messages.set(name, fields);
  }
}

const out = {};
for (const [type, declared] of Object.entries(types)) {
  const fields = messages.get(type);
  if (!fields) continue;
  const numbers = {};
  // Go's UID is uID here and uid in JSON
  const named = new Map(Object.keys(declared).map((name) => [name.toLowerCase(), name]));
  for (const [field, [number, of]] of Object.entries(fields)) {
    const name = named.get(field.toLowerCase());
    if (name !== undefined) numbers[number] = name;
    else if (messages.has(of)) {
      // a struct that JSON inlines into its parent
      const inner = {};
      for (const [name, [n]] of Object.entries(messages.get(of))) if (name in declared) inner[n] = name;
      if (Object.keys(inner).length > 0) numbers[number] = inner;
    }
  }
  out[type] = numbers;
}
writeFileSync(
  join(here, '../src/apimachinery/serializer/api-protobuf.json'),
  `{\n${Object.entries(out)
    .map(([name, numbers]) => `  ${JSON.stringify(name)}: ${JSON.stringify(numbers)}`)
    .join(',\n')}\n}\n`,
);
