/** Writes docs/options.md from the tables of src/options: `node scripts/options-page.ts`. A test checks that the page is up to date. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AgentField, agentFields } from '../src/options/agent/fields.ts';
import { gatesInForce } from '../src/options/kubelet/feature-gates.ts';
import type { Field, FieldType } from '../src/options/field.ts';
import { kubeletFields } from '../src/options/kubelet/kubelet-fields.ts';
import { whyWithoutEffect } from '../src/options/kubelet/without-effect.ts';

interface Row {
  readonly path: string;
  readonly field: AgentField;
}

function rowsOf(fields: Readonly<Record<string, Field>>, above = ''): Row[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const path = `${above}${name}`;
    const { type } = field;
    if (typeof type === 'string') return [{ path, field }];
    return 'listOf' in type
      ? [{ path, field }, ...rowsOf(type.listOf.fields, `${path}[].`)]
      : rowsOf(type.fields, `${path}.`);
  });
}

const typeName = (type: FieldType): string =>
  typeof type === 'string' ? type : 'listOf' in type ? `list of ${type.listOf.struct}` : type.struct;

const code = (text: string): string => `\`${text}\``;

function defaultOf({ type, default: value, zeroIsSet }: Field): string {
  if (value !== undefined && value !== '')
    return code(typeof value === 'string' ? value : JSON.stringify(value));
  return type === 'duration' && !zeroIsSet ? code('0s') : '–';
}

/** Breaks a list item into lines of at most 180 characters. */
function item(text: string): string {
  const lines: string[] = [];
  let line = '-';
  for (const word of text.split(' ')) {
    if (line.length + word.length >= 180) {
      lines.push(line);
      line = ' ';
    }
    line += ` ${word}`;
  }
  return [...lines, line].join('\n');
}

/** One item for each setting: its name, how else it is set, type, default, and what it does. */
const list = (rows: readonly Row[]): string =>
  rows
    .map(({ path, field }) => {
      const allowed = field.allowed === undefined ? '' : ` Allowed: ${field.allowed}.`;
      const idle = whyWithoutEffect(path);
      const by = [field.flag && code(`--${field.flag}`), field.env && code(`$${field.env}`)].filter(Boolean);
      const names = [code(path), ...by].join(', ');
      const value = defaultOf(field);
      const kind = `${typeName(field.type)}${value === '–' ? '' : `, default ${value}`}`;
      return item(
        `${names} (${kind}): ${field.about}${allowed}${idle === undefined ? '' : ` **No effect:** ${idle}.`}`,
      );
    })
    .join('\n');

/** The expected content of docs/options.md. */
export function optionsPage(): string {
  return `# Options

Flags take precedence over the environment, the environment over the file, and the file over the defaults.
\`podtender explain\` prints every effective value and where it came from.
An invalid setting prevents the start; every fault is reported at once: where it is, what is wrong and what is allowed.
An unknown or duplicate setting is ignored with a warning, as by the kubelet.

Durations are written \`10s\`, \`1m30s\`, \`1.5h\`. For a setting without \`0\` among its allowed values, zero counts as unset.

## Settings of the agent

These come from flags or the environment, never from the file. The name of the Node is \`--hostname-override\` or the machine's name in lower
case. \`--manifests\` is the same as \`--pod-manifest-path\`, \`--node-name\` is the same as \`--hostname-override\`.

${list(rowsOf(agentFields))}

## KubeletConfiguration

The file that \`--config\` names: \`apiVersion: kubelet.config.k8s.io/v1beta1\`, \`kind: KubeletConfiguration\`, as YAML or JSON. The settings,
their defaults and their rules are those of the kubelet 1.36. Some have no effect here, and the list says why; they are read and checked all the same, so
that one file serves both, and one that is set to something else than its default is named as a warning.

These \`featureGates\` have an effect:

${Object.keys(gatesInForce())
  .map((gate) => `- ${code(gate)}`)
  .join('\n')}

${list(rowsOf(kubeletFields))}
`;
}

if (import.meta.main) writeFileSync(join(import.meta.dirname, '../docs/options.md'), optionsPage());
