import { ownMember } from '../../base/own.ts';
import {
  isObject,
  type JsonObject,
  listAt,
  nameOf,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  valueAt,
} from '../../apimachinery/json.ts';
import { fault, type FieldFault } from '../../apimachinery/status-error.ts';
import { dns1035Label, dns1123Subdomain } from '../../kube/validation/name-rules.ts';
import { isEstablished } from './definition-names.ts';
import { selectableFaults } from './selectable-fields.ts';
import { schemaFaults } from './schema-rules.ts';
import { ruleFaultsOf } from './rule-faults.ts';
import { hasRules, someSchema, structuralFaults } from './structural-rules.ts';
import { defaultFaults } from './default-rules.ts';
import { internalVersions } from './internal-versions.ts';

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];
const immutable = 'field is immutable';

/** A fault for a text that must be there and in a set. */
function oneOf(field: string, value: string, supported: readonly string[]): FieldFault[] {
  if (value === '') return [fault.required(field)];
  return supported.includes(value) ? [] : [fault.unsupported(field, value, supported)];
}

/** A fault for each field whose text breaks a rule, its reasons joined. */
const byRule = (field: string, value: string, reasons: readonly string[]): FieldFault[] =>
  reasons.length > 0 ? [fault.invalid(field, value, reasons.join(','))] : [];

/** What of a definition is wrong. Follows apiextensions `ValidateCustomResourceDefinition`; paths are those of its internal form. */
export const definitionFaults = (definition: JsonObject): readonly FieldFault[] => [
  ...specFaults(objectAt(definition, 'spec')),
  ...storedVersionFaults(definition),
  ...approvalFaults(definition, undefined),
  ...preserveFaults(definition),
];

/** The name that a definition must have. */
export function definitionNameFaults(definition: JsonObject): readonly string[] {
  const spec = objectAt(definition, 'spec');
  const name = `${stringAt(objectAt(spec, 'names'), 'plural')}.${stringAt(spec, 'group')}`;
  return [
    ...dns1123Subdomain(nameOf(definition)),
    ...(nameOf(definition) === name ? [] : ['must be spec.names.plural+"."+spec.group']),
  ];
}

/** What of a changed definition is wrong: names and scope stand once it is established. */
export function definitionUpdateFaults(definition: JsonObject, old: JsonObject): readonly FieldFault[] {
  const fixed = (path: readonly string[]): FieldFault[] => {
    const value = valueAt(definition, 'spec', ...path);
    const same = sameJson(value, valueAt(old, 'spec', ...path));
    return same ? [] : [fault.invalid(['spec', ...path].join('.'), value, immutable)];
  };
  return [
    ...specFaults(objectAt(definition, 'spec')),
    ...(isEstablished(old) ? [...fixed(['scope']), ...fixed(['names', 'kind'])] : []),
    ...fixed(['group']),
    ...fixed(['names', 'plural']),
    ...storedVersionFaults(definition),
    ...approvalFaults(definition, old),
    ...(valueAt(old, 'spec', 'preserveUnknownFields') === true ? [] : preserveFaults(definition)),
  ];
}

/** Members that kube-apiserver moves out of the versions where all of them have the same. */
interface Hoisted {
  readonly schema: boolean;
  readonly subresources: boolean;
  readonly columns: boolean;
  readonly selectable: boolean;
}

function hoistedOf(versions: readonly JsonObject[]): Hoisted {
  const same = (key: string): boolean =>
    versions.every((version) => sameJson(ownMember(version, key), ownMember(versions[0], key)));
  return {
    schema: same('schema'),
    subresources: same('subresources'),
    columns: same('additionalPrinterColumns'),
    selectable: same('selectableFields'),
  };
}

function specFaults(spec: JsonObject): FieldFault[] {
  const versions = objectsAt(spec, 'versions');
  const hoisted = hoistedOf(versions);
  const [first] = versions;
  return [
    ...groupFaults(stringAt(spec, 'group')),
    ...oneOf('spec.scope', stringAt(spec, 'scope'), ['Cluster', 'Namespaced']),
    ...versions.flatMap((version, i) =>
      isObject(valueAt(version, 'schema', 'openAPIV3Schema'))
        ? []
        : [fault.required(`spec.versions[${i}].schema.openAPIV3Schema`)],
    ),
    ...versions.flatMap((version, i) => versionFaults(version, `spec.versions[${i}]`, hoisted)),
    ...versionListFaults(versions),
    ...nameFaults(objectAt(spec, 'names')),
    ...(first ? hoistedFaults(versions, first, hoisted) : []),
    ...conversionFaults(objectAt(spec, 'conversion')),
  ];
}

function groupFaults(group: string): FieldFault[] {
  if (group === '') return [fault.required('spec.group')];
  const reasons = dns1123Subdomain(group);
  if (reasons.length > 0) return byRule('spec.group', group, reasons);
  return group.includes('.')
    ? []
    : [fault.invalid('spec.group', group, 'should be a domain with at least one dot')];
}

function versionFaults(version: JsonObject, path: string, hoisted: Hoisted): FieldFault[] {
  const name = stringAt(version, 'name');
  return [
    ...byRule(`${path}.name`, name, dns1035Label(name)),
    ...deprecationFaults(version, `${path}.deprecationWarning`),
    ...(hoisted.schema ? [] : validationFaults(version, `${path}.schema`, [version])),
    ...(hoisted.subresources ? [] : scaleFaults(version, `${path}.subresources`)),
    ...(hoisted.columns ? [] : columnFaults(version, `${path}.additionalPrinterColumns`)),
    ...(hoisted.selectable ? [] : selectableFaults(version, `${path}.selectableFields`)),
  ];
}

/** Faults of what all versions have in common, at the place where kube-apiserver keeps it. */
function hoistedFaults(versions: readonly JsonObject[], first: JsonObject, hoisted: Hoisted): FieldFault[] {
  return [
    ...(hoisted.schema ? validationFaults(first, 'spec.validation', versions) : []),
    ...(hoisted.subresources ? scaleFaults(first, 'spec.subresources') : []),
    ...(hoisted.columns ? columnFaults(first, 'spec.additionalPrinterColumns') : []),
    ...(hoisted.selectable ? selectableFaults(first, 'spec.selectableFields') : []),
  ];
}

function deprecationFaults(version: JsonObject, field: string): FieldFault[] {
  const warning = version['deprecationWarning'];
  if (typeof warning !== 'string') return [];
  const reasons: string[] = [];
  if (version['deprecated'] !== true)
    return [fault.invalid(field, warning, 'can only be set for deprecated versions')];
  if (Buffer.byteLength(warning) > 256) reasons.push('must be <= 256 characters long');
  if (warning === '') reasons.push('must not be an empty string');
  const odd = warning.search(/[^\P{C}]/u);
  if (odd >= 0)
    reasons.push(
      `must only contain printable UTF-8 characters; non-printable character found at index ${odd}`,
    );
  return reasons.map((why) => fault.invalid(field, warning, why));
}

const hasStatus = (version: JsonObject): boolean => isObject(valueAt(version, 'subresources', 'status'));

/** Members that a schema with a status subresource may have at its root. */
const rootMembers =
  'description type format title maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems uniqueItems multipleOf required items properties externalDocs example x-kubernetes-preserve-unknown-fields x-kubernetes-validations'.split(
    ' ',
  );
const rootMembersText =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations';

function validationFaults(version: JsonObject, path: string, versions: readonly JsonObject[]): FieldFault[] {
  const schema = valueAt(version, 'schema', 'openAPIV3Schema');
  if (!isObject(schema)) return [];
  const at = `${path}.openAPIV3Schema`;
  return [
    ...(versions.some(hasStatus) ? statusRootFaults(schema, at) : []),
    ...(schema['nullable'] === true
      ? [fault.forbidden(`${at}.nullable`, 'nullable cannot be true at the root')]
      : []),
    ...expressed(schema, at),
  ];
}

/** Members that no structural schema has. */
const unstructured = [
  'id',
  '$schema',
  '$ref',
  'patternProperties',
  'dependencies',
  'additionalItems',
  'definitions',
];
const isUnstructured = (schema: JsonObject): boolean =>
  Array.isArray(schema['items']) ||
  unstructured.some((key) => {
    const value = ownMember(schema, key);
    return value !== undefined && (!isObject(value) || Object.keys(value).length > 0);
  });

/** Faults of a schema, and of its defaults and rules where it is structural. */
function expressed(schema: JsonObject, at: string): readonly FieldFault[] {
  const faults = schemaFaults(schema, at);
  // such a schema has no structure: only what makes it so is reported
  if (someSchema(schema, isUnstructured)) return faults;
  const structural = structuralFaults(schema, at);
  const defaults = structural.length === 0 ? defaultFaults(schema, at) : [];
  return [
    ...structural,
    ...defaults,
    ...faults,
    ...(structural.length + defaults.length === 0 && hasRules(schema)
      ? ruleFaultsOf(schema, at, faults)
      : []),
  ];
}

function statusRootFaults(schema: JsonObject, at: string): FieldFault[] {
  const type = stringAt(schema, 'type');
  if (type !== '' && type !== 'object')
    return [
      fault.invalid(
        `${at}.type`,
        type,
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      ),
    ];
  if (Object.keys(schema).every((key) => rootMembers.includes(key) || key === 'nullable')) return [];
  const why = `only [${rootMembersText}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [fault.invalid(at, schema, why)];
}

/** A path into an object in dots: `.spec.replicas`. */
function pathFaults(field: string, path: string, below: readonly string[], where: string): FieldFault[] {
  if (!path.startsWith('.'))
    return [fault.invalid(field, path, 'must be a simple json path starting with .')];
  return below.some((root) => path.startsWith(root)) ? [] : [fault.invalid(field, path, where)];
}

function scaleFaults(version: JsonObject, path: string): FieldFault[] {
  const scale = valueAt(version, 'subresources', 'scale');
  if (!isObject(scale)) return [];
  const needed = (key: string, root: string): FieldFault[] => {
    const [field, value] = [`${path}.scale.${key}`, stringAt(scale, key)];
    if (value === '') return [fault.required(field)];
    return pathFaults(field, value, [`.${root}.`], `should be a json path under .${root}`);
  };
  const selector = stringAt(scale, 'labelSelectorPath');
  return [
    ...needed('specReplicasPath', 'spec'),
    ...needed('statusReplicasPath', 'status'),
    ...(selector === ''
      ? []
      : pathFaults(
          `${path}.scale.labelSelectorPath`,
          selector,
          ['.spec.', '.status.'],
          'should be a json path under either .spec or .status',
        )),
  ];
}

const columnFaults = (version: JsonObject, path: string): FieldFault[] =>
  objectsAt(version, 'additionalPrinterColumns').flatMap((column, i) => oneColumn(column, `${path}[${i}]`));

function oneColumn(column: JsonObject, path: string): FieldFault[] {
  const faults: FieldFault[] = [];
  const [type, format, at] = ['type', 'format', 'jsonPath'].map((key) => stringAt(column, key));
  const types = `must be one of ${columnTypes.join(',')}`;
  if (stringAt(column, 'name') === '') faults.push(fault.required(`${path}.name`));
  if (type === '') faults.push(fault.required(`${path}.type`, types));
  else if (type !== undefined && !columnTypes.includes(type))
    faults.push(fault.invalid(`${path}.type`, type, types));
  if (format !== undefined && format !== '' && !columnFormats.includes(format))
    faults.push(fault.invalid(`${path}.format`, format, `must be one of ${columnFormats.join(',')}`));
  if (at === '') faults.push(fault.required(`${path}.JSONPath`));
  else faults.push(...pathFaults(`${path}.JSONPath`, at ?? '', ['.'], ''));
  return faults;
}

/** Most fields that may be selected on beside those of the metadata. */

function versionListFaults(versions: readonly JsonObject[]): FieldFault[] {
  const names = versions.map((version) => stringAt(version, 'name'));
  const [first] = names;
  const stored = versions.filter((version) => version['storage'] === true).length;
  const refuse = (why: string): FieldFault =>
    fault.invalid('spec.versions', versions.length === 0 ? null : internalVersions(versions), why);
  return [
    ...(new Set(names).size < names.length ? [refuse('must contain unique version names')] : []),
    ...(stored === 1 ? [] : [refuse('must have exactly one version marked as storage version')]),
    ...(first === undefined ? [] : byRule('spec.version', first, dns1035Label(first))),
  ];
}

function nameFaults(names: JsonObject): FieldFault[] {
  const text = (key: string): string => stringAt(names, key);
  const at = (key: string): string => `spec.names.${key}`;
  const label = (key: string): FieldFault[] => byRule(at(key), text(key), dns1035Label(text(key)));
  const kind = (key: string): FieldFault[] => {
    const reasons = dns1035Label(text(key).toLowerCase());
    const why = `may have mixed case, but should otherwise match: ${reasons.join(',')}`;
    return reasons.length > 0 ? [fault.invalid(at(key), text(key), why)] : [];
  };
  const unlessEmpty = (key: string, faults: FieldFault[]): FieldFault[] => (text(key) === '' ? [] : faults);
  const each = (key: string): FieldFault[] =>
    (listAt(names, key) as readonly string[]).flatMap((one, i) =>
      byRule(`${at(key)}[${i}]`, one, dns1035Label(one)),
    );
  const same = text('kind') !== '' && text('kind') === text('listKind');
  return [
    ...['plural', 'singular', 'kind', 'listKind'].flatMap((key) =>
      text(key) === '' ? [fault.required(at(key))] : [],
    ),
    ...unlessEmpty('plural', label('plural')),
    ...unlessEmpty('singular', label('singular')),
    ...unlessEmpty('kind', kind('kind')),
    ...unlessEmpty('listKind', kind('listKind')),
    ...each('shortNames'),
    ...(same
      ? [fault.invalid(at('listKind'), text('listKind'), 'kind and listKind may not be the same')]
      : []),
    ...each('categories'),
  ];
}

function conversionFaults(conversion: JsonObject): FieldFault[] {
  const path = 'spec.conversion';
  const strategy = stringAt(conversion, 'strategy');
  const faults = oneOf(`${path}.strategy`, strategy, ['None', 'Webhook']);
  const client = valueAt(conversion, 'webhook', 'clientConfig');
  const versions = listAt(objectAt(conversion, 'webhook'), 'conversionReviewVersions') as readonly string[];
  if (strategy !== 'Webhook') {
    const why = 'should not be set when strategy is not set to Webhook';
    if (client !== undefined) faults.push(fault.forbidden(`${path}.webhookClientConfig`, why));
    if (versions.length > 0) faults.push(fault.forbidden(`${path}.conversionReviewVersions`, why));
    return faults;
  }
  if (!isObject(client))
    faults.push(fault.required(`${path}.webhookClientConfig`, 'required when strategy is set to Webhook'));
  else if ((client['url'] === undefined) === (client['service'] === undefined))
    faults.push(fault.required(`${path}.webhookClientConfig`, 'exactly one of url or service is required'));
  if (versions.length === 0) faults.push(fault.required(`${path}.conversionReviewVersions`));
  else if (!versions.some((version) => version === 'v1' || version === 'v1beta1'))
    faults.push(
      fault.invalid(`${path}.conversionReviewVersions`, versions, 'must include at least one of v1, v1beta1'),
    );
  return faults;
}

function storedVersionFaults(definition: JsonObject): FieldFault[] {
  const field = 'status.storedVersions';
  const stored = listAt(objectAt(definition, 'status'), 'storedVersions') as readonly string[];
  if (stored.length === 0) return [fault.invalid(field, null, 'must have at least one stored version')];
  const versions = objectsAt(objectAt(definition, 'spec'), 'versions');
  const names = versions.map((version) => stringAt(version, 'name'));
  return [
    ...versions
      .filter((version) => version['storage'] === true && !stored.includes(stringAt(version, 'name')))
      .map((version) =>
        fault.invalid(field, stored, `must have the storage version ${stringAt(version, 'name')}`),
      ),
    ...stored.flatMap((name, i) =>
      names.includes(name)
        ? []
        : [
            fault.invalid(
              `${field}[${i}]`,
              name,
              `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
            ),
          ],
    ),
  ];
}

const approval = 'api-approved.kubernetes.io';
const isProtected = (group: string): boolean => /(^|\.)(k8s|kubernetes)\.io$/.test(group);

function approvalOf(definition: JsonObject): string {
  return stringAt(objectAt(objectAt(definition, 'metadata'), 'annotations'), approval);
}

/** Groups of the Kubernetes community want an annotation that says who approved of them. */
function approvalFaults(definition: JsonObject, old: JsonObject | undefined): FieldFault[] {
  if (!isProtected(stringAt(objectAt(definition, 'spec'), 'group'))) return [];
  const text = approvalOf(definition);
  if ((old && approvalOf(old) === text) || text.startsWith('unapproved') || URL.canParse(text)) return [];
  const field = `metadata.annotations[${approval}]`;
  const guide = 'https://github.com/kubernetes/enhancements/pull/1111';
  if (text === '')
    return [
      fault.required(field, `protected groups must have approval annotation "${approval}", see ${guide}`),
    ];
  const why = `protected groups must have approval annotation "${approval}" with either a URL or a reason starting with "unapproved", see ${guide}`;
  return [fault.invalid(field, text, why)];
}

const preserveFaults = (definition: JsonObject): FieldFault[] =>
  valueAt(definition, 'spec', 'preserveUnknownFields') === true
    ? [
        fault.invalid(
          'spec.preserveUnknownFields',
          true,
          'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
        ),
      ]
    : [];
