import { ownMember, setOwn } from '../../../base/own.ts';
import { configMapKeyRule } from '../../../kube/validation/name-rules.ts';
import {
  type Draft,
  isObject,
  type JsonObject,
  objectAt,
  objectsAt,
  sameJson,
  stringAt,
  textOf,
  valueAt,
} from '../../../apimachinery/json.ts';
import { parseJson } from '../../../go/json-fault.ts';
import { jsonFault } from '../../../apimachinery/serializer/json-scan.ts';
import { keyPairFault } from './key-pair.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { fault, type FieldFault } from '../../../apimachinery/status-error.ts';
import { commonStrategy, mainRules } from '../strategies.ts';
import type { Strategy } from '../strategy.ts';

const sizeMost = 1024 * 1024;
const configMaps = builtIn('configmaps');

function configMapFaults(map: JsonObject): FieldFault[] {
  const faults: FieldFault[] = [];
  const [data, binary] = [objectAt(map, 'data'), objectAt(map, 'binaryData')];
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    faults.push(...configMapKeyRule(key).map((why) => fault.invalid(`data[${key}]`, key, why)));
    if (Object.hasOwn(binary, key))
      faults.push(fault.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData'));
    size += Buffer.byteLength(String(value));
  }
  for (const [key, value] of Object.entries(binary)) {
    faults.push(...configMapKeyRule(key).map((why) => fault.invalid(`binaryData[${key}]`, key, why)));
    size += Buffer.from(textOf(value), 'base64').length;
  }
  if (size > sizeMost) faults.push(fault.tooLong('[]', sizeMost));
  return faults;
}

function immutableFaults(object: JsonObject, old: JsonObject, keys: readonly string[]): FieldFault[] {
  if (old['immutable'] !== true) return [];
  const faults: FieldFault[] = [];
  if (object['immutable'] !== true)
    faults.push(fault.forbidden('immutable', 'field is immutable when `immutable` is set'));
  for (const key of keys)
    if (!sameJson(ownMember(object, key), ownMember(old, key)))
      faults.push(fault.forbidden(key, 'field is immutable when `immutable` is set'));
  return faults;
}

export const configMapStrategy: Strategy = {
  ...commonStrategy(configMaps),
  validateCreate: configMapFaults,
  main: {
    ...mainRules(configMaps, false),
    validate: (map, old) => [...immutableFaults(map, old, ['data', 'binaryData']), ...configMapFaults(map)],
  },
};

const secrets = builtIn('secrets');

function secretTypeFaults(secret: JsonObject): FieldFault[] {
  const data = objectAt(secret, 'data');
  const required = (key: string): FieldFault[] =>
    Object.hasOwn(data, key) ? [] : [fault.required(`data[${key}]`)];
  const docker = (key: string): FieldFault[] => {
    if (!Object.hasOwn(data, key)) return [fault.required(`data[${key}]`)];
    try {
      parseJson(Buffer.from(textOf(ownMember(data, key)), 'base64').toString());
      return [];
    } catch {
      return [
        fault.invalid(
          `data[${key}]`,
          '<secret contents redacted>',
          jsonFault(Buffer.from(textOf(ownMember(data, key)), 'base64').toString()),
        ),
      ];
    }
  };
  switch (secret['type']) {
    case 'kubernetes.io/service-account-token': {
      const account = valueAt(secret, 'metadata', 'annotations', 'kubernetes.io/service-account.name');
      return account ? [] : [fault.required('metadata.annotations[kubernetes.io/service-account.name]')];
    }
    case 'kubernetes.io/dockercfg':
      return docker('.dockercfg');
    case 'kubernetes.io/dockerconfigjson':
      return docker('.dockerconfigjson');
    case 'kubernetes.io/basic-auth':
      return 'username' in data || 'password' in data
        ? []
        : [fault.required('data[username]'), fault.required('data[password]')];
    case 'kubernetes.io/ssh-auth':
      return required('ssh-privatekey');
    case 'kubernetes.io/tls':
      return [...required('tls.crt'), ...required('tls.key')];
    default:
      return [];
  }
}

function secretFaults(secret: JsonObject): FieldFault[] {
  const faults: FieldFault[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(objectAt(secret, 'data'))) {
    faults.push(...configMapKeyRule(key).map((why) => fault.invalid(`data[${key}]`, key, why)));
    size += Buffer.from(textOf(value), 'base64').length;
  }
  if (size > sizeMost) faults.push(fault.tooLong('data', sizeMost));
  return [...faults, ...secretTypeFaults(secret)];
}

/** Merges `stringData` into `data`; the default type is Opaque. */
function secretDefaults(secret: JsonObject): JsonObject {
  const { stringData, ...rest } = secret;
  const data: Draft = { ...objectAt(secret, 'data') };
  for (const [key, value] of Object.entries(isObject(stringData) ? stringData : {}))
    setOwn(data, key, Buffer.from(textOf(value)).toString('base64'));
  return {
    ...rest,
    ...(Object.keys(data).length > 0 && { data }),
    type: stringAt(secret, 'type') || 'Opaque',
  };
}

/** Warns of a certificate and key that do not match; they are stored all the same. */
function secretWarnings(secret: JsonObject): readonly string[] {
  if (secret['type'] !== 'kubernetes.io/tls') return [];
  const data = objectAt(secret, 'data');
  const [cert = '', key = ''] = ['tls.crt', 'tls.key'].map((name) =>
    Buffer.from(stringAt(data, name), 'base64').toString('latin1'),
  );
  const why = keyPairFault(cert, key);
  return why === undefined ? [] : [why];
}

export const secretStrategy: Strategy = {
  ...commonStrategy(secrets),
  defaults: secretDefaults,
  validateCreate: secretFaults,
  warnings: secretWarnings,
  main: {
    ...mainRules(secrets, false),
    warnings: secretWarnings,
    prepare: (secret) => secret,
    validate: (secret, old) => [
      ...(secret['type'] === old['type']
        ? []
        : [fault.invalid('type', secret['type'], 'field is immutable')]),
      ...immutableFaults(secret, old, ['data']),
      ...secretFaults(secret),
    ],
  },
};

const accounts = builtIn('serviceaccounts');
const mountable = 'kubernetes.io/enforce-mountable-secrets';

/** Warns of a deprecated annotation once. */
function accountWarnings(account: JsonObject, old?: JsonObject): readonly string[] {
  const has = (one?: JsonObject): boolean =>
    Object.hasOwn(objectAt(objectAt(one, 'metadata'), 'annotations'), mountable);
  return has(account) && !has(old)
    ? [
        `metadata.annotations[${mountable}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
      ]
    : [];
}

/** Drops all but the names of secrets. */
const withSecretNames = (account: JsonObject): JsonObject =>
  Array.isArray(account['secrets'])
    ? {
        ...account,
        secrets: objectsAt(account, 'secrets').map(({ name }) => (name === undefined ? {} : { name })),
      }
    : account;

export const accountStrategy: Strategy = {
  ...commonStrategy(accounts),
  prepareCreate: withSecretNames,
  warnings: accountWarnings,
  main: { ...mainRules(accounts, false), prepare: withSecretNames, warnings: accountWarnings },
};
