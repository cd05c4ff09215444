/** Returns error messages in Kubernetes' words; empty when the text is valid. */
export type NameRule = (value: string) => readonly string[];

const bytes = (value: string): number => Buffer.byteLength(value);

const regexError = (message: string, pattern: string, ...examples: readonly string[]): string =>
  `${message} (${
    examples.length > 0
      ? `e.g. ${examples
          .map((example) => `'${example}'`)
          .join(', ')
          .replaceAll("', '", "',  or '")}, `
      : ''
  }regex used for validation is '${pattern}')`;

const label1123 = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain1123 = `${label1123}(\\.${label1123})*`;
const label1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const underscoreLabel = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const subdomainUnderscore = `${underscoreLabel}(\\.${underscoreLabel})*`;
const qualifiedName = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const labelValue = `(${qualifiedName})?`;
const configMapKey = '[-._a-zA-Z0-9]+';
const httpHeader = '[-A-Za-z0-9]+';

const whole = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`);
const patterns = {
  label: whole(label1123),
  subdomain: whole(subdomain1123),
  underscore: whole(subdomainUnderscore),
  name: whole(qualifiedName),
  value: whole(labelValue),
  key: whole(configMapKey),
  header: whole(httpHeader),
};

const tooLong = (most: number, unit = 'characters'): string => `must be no more than ${most} ${unit}`;

const labelMessage = regexError(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  label1123,
  'my-name',
  '123-abc',
);
const subdomainMessage = regexError(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  subdomain1123,
  'example.com',
);
const underscoreMessage = regexError(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  subdomainUnderscore,
  'example.com',
);
const nameText =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const nameExamples = ['MyName', 'my.name', '123-abc'];
const nameMessage = regexError(nameText, qualifiedName, ...nameExamples);
const valueMessage = regexError(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  labelValue,
  'MyValue',
  'my_value',
  '12345',
);

const rule =
  (pattern: RegExp, message: string, most: number, unit?: string): NameRule =>
  (value) => [
    ...(bytes(value) > most ? [tooLong(most, unit)] : []),
    ...(pattern.test(value) ? [] : [message]),
  ];

/** RFC 1123 DNS label: at most 63 of a-z, 0-9 and inner dashes. */
export const dns1123Label: NameRule = (value) => [
  ...(bytes(value) > 63 ? [tooLong(63)] : []),
  ...(patterns.label.test(value)
    ? []
    : [patterns.subdomain.test(value) ? 'must not contain dots' : labelMessage]),
];

/** A DNS label of RFC 1035: as of RFC 1123, beginning with a letter. */
export const dns1035Label: NameRule = rule(
  whole(label1035),
  regexError(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
    label1035,
    'my-name',
    'abc-123',
  ),
  63,
);

/** RFC 1123 DNS subdomain: labels separated by dots, at most 253. */
export const dns1123Subdomain: NameRule = rule(patterns.subdomain, subdomainMessage, 253);

const wildcard = `\\*\\.${subdomain1123}`;

/** Subdomain behind a wildcard: `*.example.com`. */
export const wildcardDomain: NameRule = rule(
  whole(wildcard),
  regexError(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    wildcard,
    '*.example.com',
  ),
  253,
);

/** Like a subdomain, with underscores: DNS search paths. */
export const dns1123SubdomainWithUnderscore: NameRule = rule(patterns.underscore, underscoreMessage, 253);

/** Label value. */
export const labelValueRule: NameRule = rule(patterns.value, valueMessage, 63, 'bytes');

/** Qualified name, such as a label key: `prefix/name` or `name`. */
export const qualifiedNameRule: NameRule = (value) => {
  const parts = value.split('/');
  if (parts.length > 2)
    return [
      `a valid label key ${regexError(nameText, qualifiedName, ...nameExamples)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const [prefix, name = ''] = parts.length === 2 ? parts : [undefined, value];
  return [...(prefix === undefined ? [] : prefixFaults(prefix)), ...nameFaults(name)];
};

function prefixFaults(prefix: string): readonly string[] {
  if (prefix === '') return ['prefix part must be non-empty'];
  return dnsPrefix(prefix).map((message) => `prefix part ${message}`);
}

const dnsPrefix: NameRule = rule(patterns.subdomain, subdomainMessage, 253, 'bytes');

function nameFaults(name: string): readonly string[] {
  if (name === '') return ['name part must be non-empty', `name part ${nameMessage}`];
  return [
    ...(bytes(name) > 63 ? [`name part ${tooLong(63, 'bytes')}`] : []),
    ...(patterns.name.test(name) ? [] : [`name part ${nameMessage}`]),
  ];
}

/** Key of a ConfigMap or Secret, which is also a file name. */
export const configMapKeyRule: NameRule = (value) => [
  ...(bytes(value) > 253 ? [tooLong(253)] : []),
  ...(patterns.key.test(value)
    ? []
    : [
        regexError(
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
          configMapKey,
          'key.name',
          'KEY_NAME',
          'key-name',
        ),
      ]),
  ...dotFaults(value),
];

function dotFaults(value: string): readonly string[] {
  if (value === '.') return ["must not be '.'"];
  if (value === '..') return ["must not be '..'"];
  return value.startsWith('..') ? ["must not start with '..'"] : [];
}

/** Environment variable name: printable ASCII except `=`. */
export const envVarNameRule: NameRule = (value) =>
  /^[ -<>-~]+$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];

/** HTTP header name. */
export const httpHeaderNameRule: NameRule = (value) =>
  patterns.header.test(value)
    ? []
    : [
        regexError(
          "a valid HTTP header must consist of alphanumeric characters or '-'",
          httpHeader,
          'X-Header-Name',
        ),
      ];

/** Port name (IANA service name). */
export const portNameRule: NameRule = (value) => [
  ...(bytes(value) > 15 ? [tooLong(15)] : []),
  ...(/^[-a-z0-9]+$/.test(value)
    ? []
    : ['must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']),
  ...(/[a-z]/.test(value) ? [] : ['must contain at least one letter (a-z)']),
  ...(value.includes('--') ? ['must not contain consecutive hyphens'] : []),
  ...(value.startsWith('-') || value.endsWith('-') ? ['must not begin or end with a hyphen'] : []),
];

/** Port number. */
export const portNumberFaults = (port: number): readonly string[] =>
  port >= 1 && port <= 65_535 ? [] : ['must be between 1 and 65535, inclusive'];
