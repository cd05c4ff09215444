/** Writes docs/options.md from the tables of src/options: `node scripts/options-page.ts`. A test keeps the page equal to them. */
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

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ path, field }) => {
    const allowed = field.allowed === undefined ? '' : ` Allowed: ${field.allowed}.`;
    const idle = whyWithoutEffect(path);
    const about = `${field.about}${allowed}${idle === undefined ? '' : ` **No effect:** ${idle}.`}`;
    const by = [field.flag && code(`--${field.flag}`), field.env && code(`$${field.env}`)].filter(Boolean);
    return `| ${code(path)} | ${typeName(field.type)} | ${defaultOf(field)} | ${by.join(' ') || '–'} | ${about} |`;
  });
  return [
    '| setting | type | default | set by | meaning |',
    '| --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}

/** The page as it must stand in docs/options.md. */
export function optionsPage(): string {
  return `# Options

Flags come before the environment, the environment before the file, the file before the defaults.
\`podtender explain\` prints every effective value and where it came from.
A setting that cannot be used ends the start with every fault at once: where it stands, what is wrong and what is allowed.
A setting that does not exist, or stands twice, is named as a warning and ignored, as the kubelet does.

Spans are written \`10s\`, \`1m30s\`, \`1.5h\`. For a setting without \`0\` among its allowed values, zero counts as unset.

## Settings of the agent

They come from flags or the environment, never from the file. The Node is named by \`--hostname-override\`, or else after the machine, in lower
case. \`--manifests\` means \`--pod-manifest-path\`, \`--node-name\` means \`--hostname-override\`.

${table(rowsOf(agentFields))}

## KubeletConfiguration

The file that \`--config\` names: \`apiVersion: kubelet.config.k8s.io/v1beta1\`, \`kind: KubeletConfiguration\`, as YAML or JSON. The settings,
their defaults and their rules are those of the kubelet 1.36. Some have no effect here, and the table says why; they are read and checked all the same, so
that one file serves both, and one that is set to something else than its default is named as a warning.
Of \`featureGates\` these have an effect: ${Object.keys(gatesInForce()).map(code).join(', ')}.

${table(rowsOf(kubeletFields))}
`;
}

if (import.meta.main) writeFileSync(join(import.meta.dirname, '../docs/options.md'), optionsPage());
