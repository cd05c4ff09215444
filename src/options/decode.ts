import { ownMember } from '../base/own.ts';
import { goQuote } from '../go/go-quote.ts';
import { type Parsed, parseDocument, type Position, type TextDocument } from '../go/yaml/document.ts';
import { typeMetaOf } from '../go/go-types.ts';
import { withDefaults } from './defaults.ts';
import type { Field, FieldType, StructType } from './field.ts';
import { gateFaults } from './kubelet/feature-gates.ts';
import type { KubeletConfiguration } from './kubelet/kubelet-configuration.ts';
import { nearest } from './nearest.ts';
import { type OptionFault, OptionsError } from './options-error.ts';
import { checkStructure, kubeletStruct, settingNames } from './schema.ts';

/** Decoded settings. */
export interface DecodedConfiguration {
  readonly config: KubeletConfiguration;
  /** The settings in the text itself, without nulls. */
  readonly rawSettings: Settings;
  /** Unknown and duplicate settings, which are ignored as the kubelet does. */
  readonly warnings: readonly OptionFault[];
  /** Returns the position of a setting in the text. */
  readonly locate: (path: readonly string[]) => Position | undefined;
}

const version = 'kubelet.config.k8s.io/v1beta1';

/**
 * Decodes a KubeletConfiguration (YAML or JSON) and fills in the defaults. Follows kubelet `DecodeKubeletConfiguration`: unknown and
 * duplicate settings are warnings.
 *
 * @throws {OptionsError} all structural errors, first the one that the kubelet would report
 */
export function decodeKubeletConfiguration(text: string): DecodedConfiguration {
  const { faults, ...decoded } = decodeSoundSettings(text);
  if (faults.length > 0) throw new OptionsError(faults);
  return decoded;
}

/**
 * Decodes a KubeletConfiguration like {@link decodeKubeletConfiguration}, but leaves out invalid settings, so that the others can be
 * validated too.
 *
 * @throws {OptionsError} when the text is not a KubeletConfiguration at all
 */
export function decodeSoundSettings(
  text: string,
): DecodedConfiguration & { readonly faults: readonly OptionFault[] } {
  const document = documentOf(parseDocument(text), text);
  const rawSettings = withoutNulls(document.value, kubeletStruct) as Settings;
  const { faults, unknown } = settingFaults(rawSettings);
  const placed = (fault: OptionFault): OptionFault => ({
    ...document.locate(fault.path.split('.')),
    ...fault,
  });
  return {
    config: withDefaults(withoutSettings(rawSettings, faults)),
    rawSettings,
    locate: document.locate,
    warnings: [...unknown.map(placed), ...duplicateWarnings(document)],
    faults: faults.map(placed),
  };
}

/** Returns the settings without those that have faults. */
export const withoutSettings = (
  rawSettings: Settings,
  faults: readonly Pick<OptionFault, 'path'>[],
): Settings =>
  faults.reduce<Settings>((rest, { path }) => withoutSetting(rest, path.split('.')), rawSettings);

/** Removes a list, or a mapping with dots in its keys, as a whole. */
function withoutSetting(settings: Settings, [first = '', ...rest]: readonly string[]): Settings {
  const { [first]: inner, ...others } = settings;
  const isMapping = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
  if (rest.length === 0 || !isMapping || !Object.hasOwn(inner, rest[0] ?? '')) return others;
  return { ...others, [first]: withoutSetting(inner as Settings, rest) };
}

/** Parses settings without checking them, for settings that are merged with flags first. */
export function readSettings(text: string): Omit<DecodedConfiguration, 'config'> {
  const document = documentOf(parseDocument(text), text);
  const rawSettings = withoutNulls(document.value, kubeletStruct) as Settings;
  return { rawSettings, locate: document.locate, warnings: duplicateWarnings(document) };
}

/** Settings as written, without defaults. */
export type Settings = Readonly<Record<string, unknown>>;

/** Returns the value at a dotted path, e.g. `logging.verbosity`. */
export const valueAt = (settings: object, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (inner, part) => ownMember(inner as Readonly<Record<string, unknown>> | undefined, part),
      settings,
    );

/** Returns structural and feature gate faults, and unknown settings. */
export function settingFaults(rawSettings: Settings): {
  readonly faults: readonly OptionFault[];
  readonly unknown: readonly OptionFault[];
} {
  const { faults, unknown } = checkStructure(rawSettings);
  const ordered = [...faults.filter((fault) => fault.stops), ...faults.filter((fault) => !fault.stops)];
  const structure = ordered.map(({ path, value, message, allowed }) => ({
    path: path.join('.'),
    value,
    message: `failed to decode: ${message}`,
    allowed,
  }));
  const gates =
    structure.length > 0
      ? []
      : gateFaults(rawSettings['featureGates'] as Record<string, boolean> | undefined);
  return {
    faults: [...structure, ...gates.map(({ gate, message }) => ({ path: `featureGates.${gate}`, message }))],
    unknown: unknown.map((path) => {
      const near = nearest(path.at(-1) ?? '', settingNames(path.slice(0, -1)));
      const hint = near === undefined ? '' : `; did you mean ${near}?`;
      return { path: path.join('.'), message: `there is no such setting, it is ignored${hint}` };
    }),
  };
}

const duplicateWarnings = (document: TextDocument): OptionFault[] =>
  document.duplicates.map(({ key, line, column }) => ({
    path: key,
    line,
    column,
    message: 'the setting is given twice; the last one counts',
  }));

/** Returns the document if it is a KubeletConfiguration. */
function documentOf(parsed: Parsed, text: string): TextDocument {
  if (!parsed.ok) {
    const { message, advice, ...position } = parsed.fault;
    throw new OptionsError([
      { ...position, path: '', message: `failed to decode: ${message}`, allowed: advice },
    ]);
  }
  const meta = typeMetaOf(parsed.document.value, text);
  const fault =
    typeof meta === 'string'
      ? meta
      : meta.apiVersion !== version || meta.kind !== 'KubeletConfiguration'
        ? `no kind ${goQuote(meta.kind)} is registered for version ${goQuote(meta.apiVersion)}`
        : undefined;
  if (fault !== undefined)
    throw new OptionsError([
      {
        path: '',
        message: `failed to decode: ${fault}`,
        allowed: `apiVersion: ${version} and kind: KubeletConfiguration`,
      },
    ]);
  return parsed.document;
}

/** Removes nulls: Go's decoder leaves a null setting unchanged; a null list item or map entry becomes its type's zero value. */
function withoutNulls(value: unknown, type?: FieldType): unknown {
  if (value === null) return zeroOf(type);
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, itemOf(type)));
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  if (typeof type === 'string')
    return Object.fromEntries(entries.map(([key, inner]) => [key, withoutNulls(inner, itemOf(type))]));
  const fields: StructType['fields'] = type && 'fields' in type ? type.fields : {};
  return Object.fromEntries(
    entries
      .map(([key, inner]) => [key, inner === null && readsNull(ownMember(fields, key)) ? '' : inner] as const)
      .filter(([, inner]) => inner !== null)
      .map(([key, inner]) => [key, withoutNulls(inner, ownMember(fields, key)?.type)]),
  );
}

/** True for a duration, which decodes null as an empty text, unless Go has a pointer to it. */
const readsNull = (field: Field | undefined): boolean =>
  field?.type === 'duration' && field.zeroIsSet !== true;

/** Returns the element type of a list or map. */
function itemOf(type: FieldType | undefined): FieldType | undefined {
  if (typeof type !== 'string') return type && 'listOf' in type ? type.listOf : undefined;
  return itemTypes[type];
}

const itemTypes: Readonly<Partial<Record<Extract<FieldType, string>, FieldType>>> = {
  '[]string': 'string',
  '[]int32': 'int32',
  'map[string]string': 'string',
  'map[string]bool': 'bool',
  'map[string][]string': '[]string',
  'map[string]quantity': 'quantity',
};

const zeros: Readonly<Partial<Record<Extract<FieldType, string>, unknown>>> = {
  string: '',
  bool: false,
  int32: 0,
  '[]string': [],
  quantity: '0',
};

const zeroOf = (type: FieldType | undefined): unknown => (typeof type === 'string' ? zeros[type] : {});
