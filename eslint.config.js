import tseslint from 'typescript-eslint';
import { nounNames } from './scripts/eslint/noun-names.js';
import { ownKeys } from './scripts/eslint/own-keys.js';

// Every ban names its way out. Ambient powers live in base/clock.ts and cli/ alone.
const clock = 'take a Clock (src/base/clock.ts) in deps instead';
const ambient = [
  { selector: "CallExpression[callee.object.name='Date'][callee.property.name='now']", message: clock },
  { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: clock },
  {
    selector: "CallExpression[callee.object.name='Math'][callee.property.name='random']",
    message: 'take an injected Random (src/base/random.ts) instead',
  },
  {
    selector: "MemberExpression[object.name='process'][property.name='env']",
    message: 'take it as an option; only cli/ reads the environment',
  },
  {
    selector: "CallExpression[callee.object.name='process'][callee.property.name='exit']",
    message: 'throw an AgentError; only cli/ ends the process',
  },
  { selector: 'TSEnumDeclaration', message: 'write a union' },
  { selector: 'ExportDefaultDeclaration', message: 'export it by name' },
];

export default tseslint.config(
  {
    ignores: [
      'dist/**',
      'coverage/**',
      'node_modules/**',
      'reports/**',
      '.stryker-tmp/**',
      'bin/**',
      '**/*.cjs',
      'src/provider/cri-messages.ts',
      'src/providers/cri/gen/**',
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // an interface may promise what one implementation knows at once
      '@typescript-eslint/require-await': 'off',
      // client-node's models are classes, objects off the wire are plain
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // API maps are dictionaries; dropping a key from a copy is how a value type is edited
      '@typescript-eslint/no-dynamic-delete': 'off',
      // `interface` for shapes, `type` for unions and maps: both are the field's habit
      '@typescript-eslint/consistent-type-definitions': 'off',
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/base/clock.ts', 'src/cli/**', 'src/app/**'],
    rules: {
      'no-restricted-syntax': ['error', ...ambient],
      'no-restricted-globals': [
        'error',
        { name: 'setTimeout', message: clock },
        { name: 'setInterval', message: clock },
        { name: 'console', message: 'take a Logger (src/base/logger.ts)' },
      ],
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'max-params': 'off',
      '@typescript-eslint/max-params': ['error', { max: 4 }],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 12],
      'no-restricted-properties': [
        'error',
        { property: 'localeCompare', message: 'compare with <: it loads 3 MiB of alphabets' },
      ],
    },
  },
  {
    files: ['src', 'bench', 'examples', 'scripts'].map((folder) => `${folder}/**/*.ts`),
    plugins: { names: { rules: { 'noun-names': nounNames } } },
    rules: { 'names/noun-names': 'error' },
  },
  {
    // composition roots name every subsystem that they put together
    files: ['src/agent/*.ts', 'src/pods/engines.ts', 'src/apiserver/server.ts'],
    rules: { '@typescript-eslint/max-params': ['error', { max: 6 }] },
  },
  {
    // replays go through the operations of a recording one after another; they decide nothing
    files: ['families/*.ts', 'support/*.ts', 'compare.ts'].map(
      (path) => `src/conformance/state-machines/${path}`,
    ),
    rules: { complexity: 'off', 'max-lines-per-function': 'off', '@typescript-eslint/max-params': 'off' },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/base/own.ts'],
    plugins: { 'own-keys': { rules: { 'own-keys': ownKeys } } },
    rules: { 'own-keys/own-keys': 'error' },
  },
  {
    // rooms whose objects come from clients, manifests and other programs
    files: ['apiserver', 'apimachinery', 'kube', 'admission', 'allocation', 'node', 'options'].map(
      (room) => `src/${room}/**/*.ts`,
    ),
    rules: { 'own-keys/own-keys': ['error', { records: true }] },
  },
  {
    files: ['*.config.ts', 'eslint.config.js', 'test/**', 'bench/**', 'scripts/**', 'examples/**'],
    rules: {
      'no-restricted-syntax': 'off',
      'no-restricted-globals': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  { files: ['**/*.js', '**/*.mjs'], ...tseslint.configs.disableTypeChecked },
);
