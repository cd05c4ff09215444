import { controllerRevisionStrategy } from './apps/controller-revision.ts';
import { daemonSetStrategy } from './apps/daemon-set.ts';
import { deploymentStrategy } from './apps/deployment.ts';
import { replicaSetStrategy } from './apps/replica-set.ts';
import { statefulSetStrategy } from './apps/stateful-set.ts';
import { cronJobStrategy } from './batch/cron-job.ts';
import { jobStrategy } from './batch/job.ts';
import { podTemplateStrategy } from './core/pod-template.ts';
import { replicationControllerStrategy } from './core/replication-controller.ts';
import { endpointSliceStrategy } from './discovery/endpoint-slice.ts';
import { ingressClassStrategy } from './networking/ingress-class.ts';
import { ingressStrategy } from './networking/ingress.ts';
import { ipAddressStrategy } from './networking/ip-address.ts';
import { networkPolicyStrategy } from './networking/network-policy.ts';
import { serviceCidrStrategy } from './networking/service-cidr.ts';
import { clusterRoleBindingStrategy, roleBindingStrategy } from './rbac/role-binding.ts';
import { clusterRoleStrategy, roleStrategy } from './rbac/role.ts';
import {
  mutatingBindingStrategy,
  mutatingPolicyStrategy,
} from './admissionregistration/mutating-admission-policy.ts';
import {
  validatingBindingStrategy,
  validatingPolicyStrategy,
} from './admissionregistration/validating-admission-policy.ts';
import {
  mutatingWebhooksStrategy,
  validatingWebhooksStrategy,
} from './admissionregistration/webhook-configuration.ts';
import { flowSchemaStrategy } from './flowcontrol/flow-schema.ts';
import { priorityLevelStrategy } from './flowcontrol/priority-level-configuration.ts';
import { csiDriverStrategy } from './storage/csi-driver.ts';
import { csiNodeStrategy } from './storage/csi-node.ts';
import { csiStorageCapacityStrategy } from './storage/csi-storage-capacity.ts';
import { storageClassStrategy } from './storage/storage-class.ts';
import { volumeAttachmentStrategy } from './storage/volume-attachment.ts';
import { volumeAttributesClassStrategy } from './storage/volume-attributes-class.ts';
import { apiServiceStrategy } from './apiregistration/api-service.ts';
import { scalerStrategy, scalerV1Strategy } from './autoscaling/horizontal-pod-autoscaler.ts';
import { csrStrategy } from './certificates/csr.ts';
import { deviceClassStrategy } from './resource/device-class.ts';
import { resourceClaimStrategy } from './resource/resource-claim.ts';
import { resourceClaimTemplateStrategy } from './resource/resource-claim-template.ts';
import { resourceSliceStrategy } from './resource/resource-slice.ts';
import { definitionStrategy } from '../apiextensions/definition-strategy.ts';
import { storedKinds, type Kind } from '../../apimachinery/kinds.ts';
import { commonStrategy } from './strategies.ts';
import { accountStrategy, configMapStrategy, secretStrategy } from './core/strategy-config.ts';
import { leaseStrategy, namespaceStrategy, nodeStrategy } from './core/strategy-core.ts';
import { coreEventStrategy, modernEventStrategy } from './core/strategy-events.ts';
import { podStrategy } from './core/strategy-pods.ts';
import { serviceStrategy } from './core/strategy-services.ts';
import {
  budgetStrategy,
  endpointsStrategy,
  limitRangeStrategy,
  priorityStrategy,
  quotaStrategy,
  runtimeClassStrategy,
} from './core/strategy-workloads.ts';
import { volumeStrategy } from './core/persistent-volume.ts';
import { claimStrategy } from './core/persistent-volume-claim.ts';
import type { Strategy } from './strategy.ts';
import { trustBundleStrategy } from './certificates/trust-bundles.ts';

const own: readonly Strategy[] = [
  podStrategy,
  namespaceStrategy,
  nodeStrategy,
  configMapStrategy,
  secretStrategy,
  accountStrategy,
  leaseStrategy,
  coreEventStrategy,
  modernEventStrategy,
  serviceStrategy,
  volumeStrategy,
  claimStrategy,
  priorityStrategy,
  csrStrategy,
  limitRangeStrategy,
  quotaStrategy,
  endpointsStrategy,
  runtimeClassStrategy,
  budgetStrategy,
  trustBundleStrategy,
  definitionStrategy,
  deploymentStrategy,
  replicaSetStrategy,
  statefulSetStrategy,
  daemonSetStrategy,
  controllerRevisionStrategy,
  replicationControllerStrategy,
  podTemplateStrategy,
  jobStrategy,
  cronJobStrategy,
  endpointSliceStrategy,
  ingressStrategy,
  ingressClassStrategy,
  networkPolicyStrategy,
  serviceCidrStrategy,
  ipAddressStrategy,
  roleStrategy,
  clusterRoleStrategy,
  roleBindingStrategy,
  clusterRoleBindingStrategy,
  storageClassStrategy,
  csiDriverStrategy,
  csiNodeStrategy,
  csiStorageCapacityStrategy,
  volumeAttachmentStrategy,
  volumeAttributesClassStrategy,
  flowSchemaStrategy,
  priorityLevelStrategy,
  mutatingWebhooksStrategy,
  validatingWebhooksStrategy,
  validatingPolicyStrategy,
  validatingBindingStrategy,
  mutatingPolicyStrategy,
  mutatingBindingStrategy,
  apiServiceStrategy,
  scalerStrategy,
  scalerV1Strategy,
  deviceClassStrategy,
  resourceClaimStrategy,
  resourceClaimTemplateStrategy,
  resourceSliceStrategy,
];
const byKind = new Map<Kind, Strategy>(own.map((strategy) => [strategy.kind, strategy]));

/** The rules of every kind. */
export const strategies: ReadonlyMap<Kind, Strategy> = new Map(
  storedKinds.map((kind) => [kind, byKind.get(kind) ?? commonStrategy(kind)]),
);
