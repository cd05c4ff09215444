/**
 * What each room of src may import besides itself; ARCHITECTURE.md has the picture. Type imports count. The rooms are listed from the ground up,
 * and a row names rooms above it only: so there is no circle of rooms. A file may not be part of a circle of files either.
 */
const ground = ['base', 'go', 'kube'];
const contract = [...ground, 'provider'];
const engines = [
  ...[
    'options',
    'config',
    'certificates',
    'admission',
    'allocation',
    'eviction',
    'pleg',
    'podworkers',
    'prober',
  ],
  ...['status', 'node', 'nodeshutdown'],
];
const containers = (...more) => more.map((room) => `containers/${room}`);

const rows = {
  // the ground
  base: [],
  go: ['base'],
  pki: ['base', 'go'],
  metrics: ['base'],
  kube: ['base', 'go'],
  apimachinery: ground,
  api: [...ground, 'pki'],
  provider: ground,
  streams: contract,
  // the spine: engines
  options: ground,
  config: [...ground, 'pki'],
  certificates: [...ground, 'pki', 'api'],
  admission: contract,
  allocation: [...contract, 'admission'],
  eviction: ground,
  pleg: contract,
  podworkers: contract,
  prober: contract,
  status: [...contract, 'api'],
  node: [...contract, 'api'],
  nodeshutdown: ground,
  // the wing for real containers
  'containers/paths': ['base', 'kube'],
  'containers/cm': ground,
  'containers/envvars': ground,
  'containers/podresources': ground,
  'containers/container': contract,
  'containers/logs': [...contract, ...containers('container')],
  'containers/images': [...contract, ...containers('container')],
  'containers/credentials': [...ground, ...containers('images')],
  'containers/userns': [...contract, ...containers('paths')],
  'containers/volumes': [...contract, 'pki', ...containers('paths')],
  'containers/objects': [...ground, 'api', ...containers('volumes')],
  'containers/stats': [...contract, 'metrics', ...containers('paths', 'cm', 'volumes')],
  'containers/kuberuntime': [...contract, ...containers('paths', 'container', 'logs', 'images')],
  // the spine: what brings engines together
  pods: [
    ...contract,
    ...['metrics', 'api', 'config', 'admission', 'allocation', 'pleg', 'podworkers', 'prober', 'status'],
  ],
  server: [...contract, 'pki', 'metrics', 'streams', ...containers('stats')],
  // the API server
  apiserver: [...ground, 'pki', 'metrics', 'apimachinery', 'streams'],
  // providers are strangers to each other and to the agent, so that a third party can do all that they do
  processes: contract,
  'providers/memory': contract,
  'providers/cri': contract,
  'providers/process': [...contract, 'processes'],
  'providers/oci': [...contract, ...containers('cm'), 'processes', 'providers/process'],
  'providers/eci': contract,
  'providers/kubernetes': [...contract, 'api', 'streams'],
  // a node agent
  agent: [
    ...contract,
    ...engines,
    ...['pki', 'metrics', 'api', 'pods', 'server'],
    ...containers('paths', 'cm', 'envvars', 'podresources', 'container', 'logs', 'images', 'credentials'),
    ...containers('userns', 'volumes', 'objects', 'stats', 'kuberuntime'),
  ],
  // wings for other programs
  controller: [...ground, 'pki', 'metrics', 'apimachinery', 'api'],
  controllermanager: [...ground, 'apimachinery', 'api', 'controller'],
  envtest: [...ground, 'pki', 'api', 'apiserver'],
  middleware: [...contract, 'pki', 'api', 'apimachinery'],
  conformance: [
    ...contract,
    ...[
      'api',
      'apimachinery',
      'config',
      'pleg',
      'podworkers',
      'prober',
      'status',
      'pods',
      'apiserver',
      'agent',
    ],
  ],
  simulate: [
    ...contract,
    ...['metrics', 'api', 'apimachinery', 'config', 'podworkers', 'status', 'node', 'pods', 'server'],
    ...['apiserver', 'processes', 'providers/memory', 'agent'],
  ],
  inspector: [...contract, 'metrics', 'pleg', 'podworkers', 'status', 'pods', 'agent'],
  vkubelet: [
    ...contract,
    ...['pki', 'metrics', 'api', 'streams', 'config', 'certificates', 'status', 'node', 'pods', 'server'],
    ...containers('envvars', 'stats', 'volumes', 'objects'),
    'agent',
  ],
  // the command
  app: [], // all that is listed above it: see below
  cli: [...ground, 'options', 'conformance', 'simulate', 'inspector', 'app'],
};

const seen = new Set();
rows.app = Object.keys(rows).filter((room) => room !== 'app' && room !== 'cli');
for (const [room, may] of Object.entries(rows)) {
  const below = may.find((other) => !seen.has(other));
  if (below) throw new Error(`.dependency-cruiser.cjs: ${room} names ${below}, which is not listed above it`);
  seen.add(room);
}

const layers = Object.entries(rows).map(([room, may]) => ({
  name: `room-${room.replace('/', '-')}`,
  comment: `src/${room} may import ${may.join(', ') || 'nothing'}`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: { path: '^src/', pathNot: `^src/(${[room, ...may].join('|')})/` },
}));
/**
 * The floors inside src/apiserver, from the ground up: a folder may import its own floor and those below. The folders of the last one know each
 * other, since custom resources are served, stored and watched as built-in kinds are.
 */
const apiserverFloors = [
  ['storage'],
  ['cel', 'printers'],
  ['authentication'],
  ['authorization'],
  ['request'],
  ['webhooks'],
  ['admission', 'filters'],
  ['registry', 'proxy', 'apiextensions', 'endpoints', 'metrics-server', 'controllers'],
];
const floors = apiserverFloors.slice(0, -1).flatMap((floor, index) =>
  floor.map((folder) => {
    const may = apiserverFloors.slice(0, index + 1).flat();
    return {
      name: `floor-apiserver-${folder}`,
      comment: `src/apiserver/${folder} may import ${may.join(', ')} of src/apiserver`,
      severity: 'error',
      from: { path: `^src/apiserver/${folder}/` },
      to: { path: '^src/apiserver/', pathNot: `^src/apiserver/(${may.join('|')})/` },
    };
  }),
);
const home = (pkg, where) => ({
  name: `home-of-${pkg.replace(/[^a-z0-9]+/g, '-')}`,
  comment: `${pkg} has one home (type-only imports are free)`,
  severity: 'error',
  from: { path: '^src/', pathNot: where },
  to: { path: `node_modules/${pkg}/`, dependencyTypesNot: ['type-only'] },
});
module.exports = {
  forbidden: [
    { name: 'no-circles', comment: 'of types neither', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'room-without-a-row',
      comment: 'a new room states here what it may import',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: `^src/(${Object.keys(rows).join('|')})/` },
      to: {},
    },
    {
      name: 'folder-without-a-floor',
      comment: 'a new folder of src/apiserver is put on a floor here',
      severity: 'error',
      from: {
        path: '^src/apiserver/[^/]+/',
        pathNot: `^src/apiserver/(${apiserverFloors.flat().join('|')})/`,
      },
      to: {},
    },
    {
      name: 'the-library-without-the-command',
      comment: 'what embedders import parses no command line',
      severity: 'error',
      from: { path: '^src/[^/]+$' },
      to: { path: '^src/cli/' },
    },
    ...layers,
    ...floors,
    home('@kubernetes/client-node', '^src/api/kubeconfig/'),
    home('@grpc/grpc-js', '^src/(providers/cri|containers/podresources|app)/'),
    home('@opentelemetry', '^src/(base|app)/tracing'),
    home('pino', '^src/base/pino-logger'),
    home('ajv', '^src/(options|kube|middleware|providers/kubernetes)/'),
    home('eventemitter3', '^src/base/'),
    home('rxjs', '^src/(config|pleg|prober|api|pods|agent|conformance|simulate)/'),
    home('undici', '^src/(api|config|prober|server|apiserver|providers/oci)/'),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
