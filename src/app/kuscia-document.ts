import { tableOf } from '../base/own.ts';
import { type Fields, fieldsOf, type Reading } from './kuscia-reading.ts';

/** Members of kuscia's own file that say what its agent does. */
const ofAgent = ['mode', 'agent', 'domainID', 'logLevel', 'runtime', 'runk', 'capacity', 'reservedResources'];

/** Members of kuscia's `runk` that its agent has elsewhere. */
const runkNames: Readonly<Record<string, readonly string[]>> = tableOf({
  namespace: ['namespace'],
  kubeconfigFile: ['kubeconfigFile'],
  dnsServers: ['dns', 'servers'],
  enableLogging: ['enableLogging'],
  logDirectory: ['logDirectory'],
  logMaxFiles: ['logMaxFiles'],
  logMaxSize: ['logMaxSize'],
});

/**
 * Returns the configuration of kuscia's agent in a file: the file itself, or what kuscia's own file (with `mode` and `domainID`) gives its
 * agent. Its other members are named.
 */
export function agentOf(reading: Reading, document: Fields): Fields {
  if (document['mode'] === undefined || document['provider'] !== undefined) return document;
  for (const key of Object.keys(document).filter((one) => !ofAgent.includes(one)))
    reading.notes.push(`${key}: is no setting of kuscia's agent`);
  const { domainID, logLevel, runtime, capacity, reservedResources } = document;
  const agent = fieldsOf('agent', document['agent']);
  const provider = fieldsOf('agent.provider', agent['provider']);
  const log = fieldsOf('agent.log', agent['log']);
  return defined({
    ...agent,
    namespace: domainID ?? agent['namespace'],
    log: defined({ ...log, level: logLevel ?? log['level'] }),
    capacity: capacity ?? agent['capacity'],
    reservedResources: reservedResources ?? agent['reservedResources'],
    provider: defined({
      ...provider,
      runtime: runtime ?? provider['runtime'],
      k8s: withRunk(
        reading,
        fieldsOf('agent.provider.k8s', provider['k8s']),
        fieldsOf('runk', document['runk']),
      ),
    }),
  });
}

function withRunk(reading: Reading, k8s: Fields, runk: Fields): Fields | undefined {
  const all: Record<string, unknown> = { ...k8s };
  for (const [key, value] of Object.entries(runk)) {
    const [first, second] = runkNames[key] ?? [];
    if (first === undefined) reading.notes.push(`runk.${key}: has no meaning here`);
    else if (second === undefined) all[first] = value;
    else all[first] = { ...fieldsOf(first, all[first]), [second]: value };
  }
  return Object.keys(all).length > 0 ? all : undefined;
}

const defined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
