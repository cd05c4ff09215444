import { isObject, type JsonObject, listAt, objectAt, objectsAt, stringAt } from '../apimachinery/json.ts';

/** What one definition's types are written with. */
interface Writing {
  /** The declared interfaces, in order. */
  readonly declarations: string[];
  readonly names: Set<string>;
}

/** A name of a type from words. */
const pascal = (text: string): string =>
  text.replaceAll(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_all, first: string) => first.toUpperCase());

const memberName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

/** Lines of a comment of at most this width are filled. */
const width = 100;

/** Returns the comment of a schema: its description, and its default. */
function comment(schema: JsonObject, indent: string): string {
  const lines = stringAt(schema, 'description')
    .split('\n')
    .flatMap((line) => line.match(new RegExp(`\\S(?:.{0,${width - 1}})(?=\\s|$)|\\S+`, 'g')) ?? [''])
    .map((line) => line.trim().replaceAll('*/', '*\\/'));
  if (schema['default'] !== undefined)
    lines.push(`@default ${JSON.stringify(schema['default']).replaceAll('*/', '*\\/')}`);
  const text = lines.filter((line, i) => line !== '' || (i > 0 && i < lines.length - 1));
  if (text.length === 0) return '';
  if (text.length === 1) return `${indent}/** ${text[0] ?? ''} */\n`;
  return `${indent}/**\n${text.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

function unique(writing: Writing, base: string): string {
  let name = base;
  for (let n = 2; writing.names.has(name); n++) name = `${base}${n}`;
  writing.names.add(name);
  return name;
}

const isTrue = (schema: JsonObject, extension: string): boolean =>
  schema[`x-kubernetes-${extension}`] === true;

/** Returns the TypeScript type of a schema; objects with members are declared under `name`. */
function typeOf(schema: JsonObject, name: string, writing: Writing): string {
  const type = plainType(schema, name, writing);
  return schema['nullable'] === true && type !== 'unknown' ? `${type} | null` : type;
}

function plainType(schema: JsonObject, name: string, writing: Writing): string {
  const values = listAt(schema, 'enum');
  if (values.length > 0) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (isTrue(schema, 'int-or-string')) return 'number | string';
  switch (stringAt(schema, 'type')) {
    case 'string':
      return 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'array':
      return listType(typeOf(objectAt(schema, 'items'), `${name}Item`, writing));
    case 'object':
      return objectType(schema, name, writing);
    default:
      return Object.keys(objectAt(schema, 'properties')).length > 0
        ? objectType(schema, name, writing)
        : 'unknown';
  }
}

const listType = (item: string): string => (item.includes(' ') ? `(${item})[]` : `${item}[]`);

function objectType(schema: JsonObject, name: string, writing: Writing): string {
  const properties = objectAt(schema, 'properties');
  const embedded = isTrue(schema, 'embedded-resource');
  if (Object.keys(properties).length === 0) {
    if (embedded) return 'UnstructuredObject';
    const { additionalProperties } = schema;
    const value = isObject(additionalProperties)
      ? typeOf(additionalProperties, `${name}Value`, writing)
      : 'unknown';
    return `Record<string, ${value}>`;
  }
  const own = unique(writing, name);
  const place = writing.declarations.push('') - 1;
  writing.declarations[place] = declaration(own, schema, writing, embedded ? ' extends KubeObject' : '');
  return own;
}

/** Members that {@link KubeObject} has. */
const shared: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

function declaration(name: string, schema: JsonObject, writing: Writing, base: string): string {
  const required = new Set(listAt(schema, 'required'));
  const members = Object.entries(objectAt(schema, 'properties'))
    .filter(([member]) => base === '' || !shared.has(member))
    .map(([member, value]) => {
      const of = isObject(value) ? value : {};
      const type = typeOf(of, `${name}${pascal(member)}`, writing);
      return `${comment(of, '  ')}  ${memberName(member)}${required.has(member) ? '' : '?'}: ${type};\n`;
    });
  if (isTrue(schema, 'preserve-unknown-fields')) members.push('  [member: string]: unknown;\n');
  return `${comment(schema, '')}export interface ${name}${base} {\n${members.join('')}}\n`;
}

const suffixed = (kind: string, version: string): string => `${kind}${pascal(version)}`;

/**
 * Returns the interfaces and kinds of a CustomResourceDefinition as TypeScript. The version that is stored has the kind's name, the others
 * have their version behind it: `CronTab`, `CronTabV1beta1`.
 */
function definitionTypes(definition: JsonObject, names: Set<string>): string {
  const spec = objectAt(definition, 'spec');
  const [group, plural] = [stringAt(spec, 'group'), stringAt(objectAt(spec, 'names'), 'plural')];
  const kind = stringAt(objectAt(spec, 'names'), 'kind');
  const namespaced = stringAt(spec, 'scope') !== 'Cluster';
  const parts = objectsAt(spec, 'versions').map((version) => {
    const served = stringAt(version, 'name');
    const writing: Writing = { declarations: [], names };
    const name = unique(writing, version['storage'] === true ? kind : suffixed(kind, served));
    const schema = objectAt(objectAt(version, 'schema'), 'openAPIV3Schema');
    const root = declaration(name, schema, writing, ' extends KubeObject');
    const value = `export const ${name}: Kind<${name}> = defineKind<${name}>({
  group: ${JSON.stringify(group)},
  version: ${JSON.stringify(served)},
  kind: ${JSON.stringify(kind)},
  resource: ${JSON.stringify(plural)},
  namespaced: ${namespaced},
});
`;
    return [root, ...writing.declarations, `/** ${group}/${served}, Kind=${kind} */\n${value}`].join('\n');
  });
  return parts.join('\n');
}

/**
 * Returns a TypeScript module with the interfaces and kinds of CustomResourceDefinitions.
 *
 * @param module where `defineKind` is imported from
 */
export function typesOfDefinitions(definitions: readonly JsonObject[], module: string): string {
  const names = new Set([
    'Kind',
    'KubeObject',
    'UnstructuredObject',
    'Record',
    'Array',
    'Date',
    'Map',
    'Set',
  ]);
  const body = definitions.map((definition) => definitionTypes(definition, names)).join('\n');
  const imports = ['defineKind', 'type Kind', 'type KubeObject'];
  if (body.includes('UnstructuredObject')) imports.push('type UnstructuredObject');
  return `// Generated by podtender generate-types. Do not edit: change the CustomResourceDefinition and generate again.
import { ${imports.join(', ')} } from '${module}';

${body}`;
}
