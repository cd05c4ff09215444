import type { CustomResources } from '../apiextensions/custom-resources.ts';
import { Definitions } from '../apiextensions/definitions.ts';
import type { Subresources } from '../endpoints/handlers/subresources.ts';
import type { Kind } from '../../apimachinery/kinds.ts';
import type { EmbeddedApiServerOptions } from '../server-options.ts';
import { keepApiServices } from './api-services.ts';
import { type ControllerName, enabledControllers } from './controller-names.ts';
import { type ControllerDeps, furnishNamespaces, keepQuotas } from './controllers.ts';
import { keepFlowControl } from './flow-control.ts';
import { GarbageCollector } from './garbage-collector.ts';
import { keepKubernetesService, type Reachability } from './kubernetes-service.ts';
import { emptyNamespaces } from './namespace-controller.ts';
import { checkPolicyTypes } from './policy-type-checks.ts';
import { aggregateRoles } from './role-aggregation.ts';
import { signRequests, type SigningTimes } from './csr-signer.ts';
import { minimalScheduler } from './scheduler.ts';
import { keepIdentityLease, keepOwnConfigMaps, type TrustedClients } from './server-identity.ts';
import { keepAddresses, keepServiceCidr } from './service-cidr.ts';

/** Returns the controllers to run. @throws {AgentError} `invalid_argument` for an unknown name */
export function controllersOf({
  controllers = true,
  minimalScheduler: schedules = true,
}: EmbeddedApiServerOptions): ReadonlySet<ControllerName> {
  const list = typeof controllers === 'boolean' ? (controllers ? ['*'] : ['scheduler']) : controllers;
  return enabledControllers(schedules ? list : [...list, '-scheduler']);
}

/** Which controllers run, and how. */
export interface ControllerSettings {
  readonly enabled: ReadonlySet<ControllerName>;
  readonly signing?: Partial<SigningTimes> | undefined;
  /** Where `default/kubernetes` leads; absent: the service is not looked after. */
  readonly service?: Reachability;
  readonly trusted: TrustedClients;
  /** Kinds that an option makes the server serve. */
  readonly optionalKinds: readonly Kind[];
}

/** Starts what looks after the objects that kube-apiserver itself makes. @returns what ends each */
function keepOwnObjects(
  deps: ControllerDeps & { readonly customs: CustomResources },
  { service, trusted, optionalKinds }: ControllerSettings,
): (() => void)[] {
  return [
    keepServiceCidr(deps),
    keepAddresses(deps),
    ...(service ? [keepKubernetesService(deps, service)] : []),
    keepFlowControl(deps),
    keepOwnConfigMaps(deps, trusted),
    keepIdentityLease(deps),
    keepApiServices(deps, { customs: deps.customs, optional: optionalKinds }),
  ];
}

/** Starts the enabled controllers, and what looks after definitions. @returns what ends each */
export function runControllers(
  deps: ControllerDeps & { readonly customs: CustomResources },
  subresources: Subresources,
  settings: ControllerSettings,
): (() => void)[] {
  const { enabled, signing } = settings;
  const ends: (() => void)[] = [new Definitions(deps).start(), ...keepOwnObjects(deps, settings)];
  const starts: Readonly<Partial<Record<ControllerName, () => () => void>>> = {
    'serviceaccount-controller': () => furnishNamespaces(deps),
    'clusterrole-aggregation-controller': () => aggregateRoles(deps),
    'garbage-collector-controller': () => new GarbageCollector(deps).start(),
    'namespace-controller': () => emptyNamespaces(deps),
    'resourcequota-controller': () => keepQuotas(deps),
    'certificatesigningrequest-signing-controller': () => signRequests(deps, signing),
    'validatingadmissionpolicy-status-controller': () => checkPolicyTypes(deps, deps.customs),
    scheduler: () =>
      minimalScheduler(deps, (namespace, name, node) => {
        subresources.bind(namespace, name, { metadata: { name }, target: { kind: 'Node', name: node } });
      }),
  };
  for (const [name, start] of Object.entries(starts) as [ControllerName, () => () => void][])
    if (enabled.has(name)) ends.push(start());
  return ends;
}
