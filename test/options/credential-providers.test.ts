import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readCredentialProviders } from '../../src/options/credential-providers.ts';

const dir = mkdtempSync(join(tmpdir(), 'pt-providers-'));
afterAll(() => {
  rmSync(dir, { recursive: true });
});

const head = 'apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\n';
const good = {
  name: 'ecr',
  matchImages: ['*.a.io'],
  defaultCacheDuration: '1h',
  apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
};
const token = { serviceAccountTokenAudience: 'a.io', cacheType: 'Token', requireServiceAccount: true };
const yaml = (...providers: object[]): string => `${head}providers: ${JSON.stringify(providers)}\n`;

function read(text: string) {
  const path = join(dir, 'config.yaml');
  writeFileSync(path, text);
  return readCredentialProviders(path);
}

test('a file gives its plug-ins', () => {
  const full = { ...good, args: ['a'], env: [{ name: 'K', value: 'v' }], tokenAttributes: token };
  expect(read(yaml(full))).toEqual([full]);
  expect(read(yaml(good).replace('io/v1\n', 'io/v1beta1\n'))).toEqual([good]);
});

test('a folder gives those of all its files, by name', () => {
  const folder = join(dir, 'folder');
  mkdirSync(join(folder, 'not-a-file.yaml'), { recursive: true });
  expect(() => readCredentialProviders(folder)).toThrow(
    `no configuration files found in directory "${folder}"`,
  );
  writeFileSync(join(folder, '2.yaml'), yaml({ ...good, name: 'second' }));
  writeFileSync(
    join(folder, '1.json'),
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1',
      kind: 'CredentialProviderConfig',
      providers: [good],
    }),
  );
  writeFileSync(join(folder, 'notes.txt'), 'no settings');
  expect(readCredentialProviders(folder).map(({ name }) => name)).toEqual(['ecr', 'second']);
  writeFileSync(join(folder, '3.yml'), yaml(good));
  expect(() => readCredentialProviders(folder)).toThrow(
    'duplicate provider name "ecr" found in configuration file(s)',
  );
});

test.for([
  ['nothing', '', /^error decoding config .*Object 'Kind' is missing/s],
  ['another kind', 'apiVersion: v1\nkind: Pod\n', /no kind "Pod" is registered for version "v1"$/],
  [
    'an unknown field',
    yaml({ ...good, nmae: 1 }),
    /strict decoding error: unknown field "providers\[0\]\.nmae"$/,
  ],
  [
    'a field twice',
    `${yaml(good)}providers: []\n`,
    /strict decoding error: key "providers" already set in map$/,
  ],
  [
    'a wrong type',
    yaml({ ...good, args: 'x' }),
    /cannot unmarshal string into Go struct field CredentialProvider\.providers\.args of type \[\]string$/,
  ],
  [
    'a span that is none',
    yaml({ ...good, defaultCacheDuration: '1x' }),
    /time: unknown unit "x" in duration "1x"$/,
  ],
  [
    'tokens in an old version',
    yaml({ ...good, tokenAttributes: token }).replace('io/v1\n', 'io/v1alpha1\n'),
    /unknown field "providers\[0\]\.tokenAttributes"$/,
  ],
] as const)('%s cannot be decoded', ([, text, why]) => {
  expect(() => read(text)).toThrow(why);
});

const failed = 'failed to validate credential provider config: ';
test.for([
  [[], 'providers: Required value: at least 1 item in plugins is required'],
  [[{ ...good, name: 'a/b' }], 'providers.name: Invalid value: "a/b": provider name cannot contain \'/\''],
  [[{ ...good, name: 'a b' }], 'providers.name: Invalid value: "a b": provider name cannot contain spaces'],
  [[{ ...good, name: '..' }], 'providers.name: Invalid value: "..": provider name cannot be \'..\''],
  [[{ ...good, apiVersion: '' }], 'providers.apiVersion: Required value'],
  [
    [{ ...good, apiVersion: 'v2' }],
    'providers.apiVersion: Unsupported value: "v2": supported values: "credentialprovider.kubelet.k8s.io/v1", "credentialprovider.kubelet.k8s.io/v1alpha1", "credentialprovider.kubelet.k8s.io/v1beta1"',
  ],
  [
    [{ ...good, matchImages: [] }],
    'providers.matchImages: Required value: at least 1 item in matchImages is required',
  ],
  [
    [{ ...good, matchImages: ['%invalid%'] }],
    'providers.matchImages: Invalid value: "%invalid%": match image is invalid: parse "https://%invalid%": invalid URL escape "%in"',
  ],
  [[{ ...good, defaultCacheDuration: undefined }], 'providers.defaultCacheDuration: Required value'],
  [
    [{ ...good, defaultCacheDuration: '-1s' }],
    'providers.defaultCacheDuration: Invalid value: "-1s": defaultCacheDuration must be greater than or equal to 0',
  ],
  [
    [{ ...good, tokenAttributes: { cacheType: 'Token' } }],
    '[providers.tokenAttributes.serviceAccountTokenAudience: Required value, providers.tokenAttributes.requireServiceAccount: Required value]',
  ],
  [
    [{ ...good, tokenAttributes: { ...token, cacheType: '' } }],
    'providers.tokenAttributes.cacheType: Required value: cacheType is required to be set when tokenAttributes is specified. Supported values are: ServiceAccount, Token',
  ],
  [
    [{ ...good, tokenAttributes: { ...token, cacheType: 'Pod' } }],
    'providers.tokenAttributes.cacheType: Unsupported value: "Pod": supported values: "ServiceAccount", "Token"',
  ],
  [
    [{ ...good, apiVersion: 'credentialprovider.kubelet.k8s.io/v1beta1', tokenAttributes: token }],
    'providers.tokenAttributes: Forbidden: tokenAttributes is only supported for credentialprovider.kubelet.k8s.io/v1 API version',
  ],
] as const)('%j', ([providers, why]) => {
  expect(() => read(yaml(...providers))).toThrow(`${failed}${why}`);
});

test('every fault of annotation keys is reported', () => {
  const keys = {
    requireServiceAccount: false,
    requiredServiceAccountAnnotationKeys: ['A/b', 'A/b'],
    optionalServiceAccountAnnotationKeys: ['A/b'],
  };
  const field = 'providers.tokenAttributes';
  expect(() => read(yaml({ ...good, tokenAttributes: { ...token, ...keys } }))).toThrow(
    `${failed}[${field}.requiredServiceAccountAnnotationKeys: Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set, ` +
      `${field}.requiredServiceAccountAnnotationKeys: Duplicate value: "A/b", ` +
      `${field}: Invalid value: ["A/b"]: annotation keys cannot be both required and optional]`,
  );
});

test('a missing path is reported', () => {
  expect(() => readCredentialProviders(join(dir, 'none'))).toThrow(
    `unable to access path "${join(dir, 'none')}"`,
  );
});
