// Writes src/controllermanager/workload/pod-template-types.json: the Go structs below PodTemplateSpec with the names and types of their fields,
// in their order, which the hash of a template depends on.
// Run it after an update of Kubernetes: node scripts/pod-template-types.mjs API_DIR APIMACHINERY_DIR
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const [api, machinery] = process.argv.slice(2);
const file = join(import.meta.dirname, '../src/controllermanager/workload/pod-template-types.json');
const sources = [
  { path: join(api, 'core/v1/types.go'), own: 'v1' },
  { path: join(machinery, 'pkg/apis/meta/v1/types.go'), own: 'v1' },
  { path: join(machinery, 'pkg/types/uid.go'), own: 'types' },
  { path: join(machinery, 'pkg/util/intstr/intstr.go'), own: 'intstr' },
];
const builtIn = new Set(['string', 'bool', 'int32', 'int64', 'byte']);

const structs = new Map();
const aliases = new Map();

/** A type as Go prints it: with the last part of its package. */
const printed = (type, own) =>
  type
    .replaceAll('metav1.', 'v1.')
    .replace(/\b(?:[a-z]\w*\.)?[A-Za-z]\w*\b/g, (name) =>
      name.includes('.') || builtIn.has(name) || name === 'map' ? name : `${own}.${name}`,
    );

for (const { path, own } of sources) {
  const text = readFileSync(path, 'utf8');
  for (const [, name, of] of text.matchAll(/^type (\w+) ((?:string|int|map\[|\[\])\S*)$/gm))
    aliases.set(`${own}.${name}`, printed(of, own));
  for (const [, name, body] of text.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
    if (structs.has(`${own}.${name}`)) continue;
    const fields = [...body.matchAll(/^\t([\w.]+)(?: +([^`\n]*?))? *`(?:[^`]* )?json:"([^",]*)/gm)];
    structs.set(
      `${own}.${name}`,
      fields.map(([, field, type, json]) => [
        field.split('.').at(-1),
        json === '' ? '' : json,
        printed((type ?? '') === '' ? field : type, own),
      ]),
    );
  }
}

const out = { structs: {}, named: {} };
const visit = (type) => {
  for (const [name] of type.matchAll(/[a-z]\w*\.[A-Za-z]\w*/g)) {
    if (name in out.structs || name in out.named) continue;
    if (aliases.has(name)) {
      out.named[name] = aliases.get(name);
      visit(aliases.get(name));
    } else if (structs.has(name)) {
      out.structs[name] = structs.get(name).map((field) => field.join(' '));
      for (const [, , of] of structs.get(name)) visit(of);
    } else console.error(`no struct: ${name}`);
  }
};
visit('v1.PodTemplateSpec');
const lines = (members) =>
  Object.entries(members)
    .map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(',\n');
writeFileSync(
  file,
  `{\n  "structs": {\n${lines(out.structs)}\n  },\n  "named": {\n${lines(out.named)}\n  }\n}\n`,
);
