// Writes src/apimachinery/serializer/api-protobuf.json: the numbers that fields have in protobuf bodies, read from the .proto files of
// k8s.io/api and of
// k8s.io/apiextensions-apiserver and k8s.io/kube-aggregator.
// Run it after scripts/api-types.mjs: node scripts/api-protobuf.mjs API_DIR APIMACHINERY_DIR APIEXTENSIONS_DIR AGGREGATOR_DIR
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [api, machinery, extensions, aggregator] = process.argv.slice(2);
const here = import.meta.dirname;
const types = JSON.parse(readFileSync(join(here, '../src/apimachinery/api-types.json'), 'utf8'));
const packages = [
  [join(machinery, 'pkg/apis/meta/v1'), ''],
  [join(api, 'core/v1'), 'CoreV1'],
  ...(
    'apps/v1 batch/v1 policy/v1 rbac/v1 storage/v1 scheduling/v1 coordination/v1 node/v1 discovery/v1 events/v1 authentication/v1 ' +
    'authorization/v1 certificates/v1 networking/v1 autoscaling/v1 admissionregistration/v1 flowcontrol/v1 resource/v1'
  )
    .split(' ')
    .map((dir) => [join(api, dir), `${dir[0].toUpperCase()}${dir.slice(1, dir.indexOf('/'))}V1`]),
  [join(api, 'certificates/v1beta1'), 'V1beta1'],
  [join(api, 'autoscaling/v2'), 'V2'],
  [join(extensions, 'pkg/apis/apiextensions/v1'), 'ApiextensionsV1'],
  [join(aggregator, 'pkg/apis/apiregistration/v1'), 'ApiregistrationV1'],
];

/** `xKubernetesIntOrString` is `x-kubernetes-int-or-string` in JSON. */
const extensionName = (field) => field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

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

/** Returns the numbers of a message's fields; a struct that JSON inlines into its parent has numbers of its own. */
function numbersOf(fields, declared) {
  // Go's UID is uID here and uid in JSON
  const named = new Map(Object.keys(declared).map((name) => [name.toLowerCase(), name]));
  const numbers = {};
  for (const [field, [number, of]] of Object.entries(fields)) {
    const name =
      named.get(field.toLowerCase()) ??
      named.get(`$${field}`) ??
      named.get(/^x[A-Z]/.test(field) ? extensionName(field) : '');
    const inner = name === undefined && messages.has(of) ? numbersOf(messages.get(of), declared) : {};
    if (name !== undefined) numbers[number] = name;
    else if (Object.keys(inner).length > 0) numbers[number] = inner;
  }
  return numbers;
}

const out = {};
for (const [type, declared] of Object.entries(types)) {
  const fields = messages.get(type);
  if (fields) out[type] = numbersOf(fields, declared);
}
writeFileSync(
  join(here, '../src/apimachinery/serializer/api-protobuf.json'),
  `{\n${Object.entries(out)
    .map(([name, numbers]) => `  ${JSON.stringify(name)}: ${JSON.stringify(numbers)}`)
    .join(',\n')}\n}\n`,
);
