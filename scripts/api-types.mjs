// Writes src/apimachinery/api-types.json: the fields of every kind that the embedded API server knows, read from client-node's models.
// Run it after an update of @kubernetes/client-node: node scripts/api-types.mjs
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const models = join(import.meta.dirname, '../node_modules/@kubernetes/client-node/dist/gen/models');
const gen = await import(join(models, 'all.js'));
const out = {};

/** The name of a type: `Pod` for `V1Pod`; other prefixes stay, because they distinguish types with the same name. */
const nameOf = (type) => type.replace(/^V1(?=[A-Z])/, '');

const scalars = {
  string: 'string',
  boolean: 'boolean',
  any: 'any',
  IntOrString: 'intstr',
  Date: 'time',
  V1MicroTime: 'microtime',
};

function typeOf(type, format) {
  const list = /^Array<(.+)>$/.exec(type);
  if (list) return `[]${typeOf(list[1], format)}`;
  const map = /^\{ \[key: string\]: (.+); \}$/.exec(type);
  if (map) return `{}${typeOf(map[1], format)}`;
  if (type === 'string' && format === 'byte') return 'bytes';
  if (type === 'number') return format === 'int32' || format === 'int64' ? format : 'double';
  if (type in scalars) return scalars[type];
  if (!(type in gen)) return 'any';
  add(type);
  return nameOf(type);
}

/** Types without fields, which client-node declares as `any`. */
const empty = { 'CustomResourceSubresources.status': 'CustomResourceSubresourceStatus' };

function add(type) {
  const name = nameOf(type);
  if (name in out) return;
  const fields = {};
  out[name] = fields;
  const declared = readFileSync(join(models, `${type}.d.ts`), 'utf8');
  for (const { name: attribute, baseName, type: of, format } of gen[type].attributeTypeMap) {
    const required = declared.includes(`'${attribute}': `) ? '!' : '';
    const bare = empty[`${name}.${baseName}`];
    if (bare) out[bare] = {};
    fields[baseName] = (bare ?? typeOf(of, format)) + required;
  }
}

const roots = readdirSync(models)
  .filter((file) => /^([A-Z][a-z]+)?V[12][A-Z]\w*\.js$/.test(file))
  .map((file) => file.slice(0, -3))
  .filter(
    (type) => gen[type]?.attributeTypeMap?.some((field) => field.baseName === 'kind') && !/List$/.test(type),
  );
for (const type of roots) add(type);
for (const type of ['V1beta1ClusterTrustBundle', 'V1DeleteOptions', 'V1Status', 'V1ListMeta'])
  if (gen[type]) add(type);
const sorted = Object.fromEntries(Object.entries(out).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(
  join(import.meta.dirname, '../src/apimachinery/api-types.json'),
  `{\n${Object.entries(sorted)
    .map(([name, fields]) => `  ${JSON.stringify(name)}: ${JSON.stringify(fields)}`)
    .join(',\n')}\n}\n`,
);
