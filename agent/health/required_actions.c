/* SPDX-License-Identifier: BSD-3-Clause */
/* Translates the requirements of the plan into commands for this distribution, and reports new
 * ones. The plan itself does not depend on the distribution. */
#include "agent/health/required_actions.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_there(const char *root, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", root, path);
	return access(full, F_OK) == 0;
}

/* Chooses the kernel arguments for the vendor of the CPU, by the firmware's IOMMU tables (DMAR:
 * Intel, IVRS: AMD). If both tables are missing, the IOMMU is disabled in the firmware. */
static void choose_args(const char *root, const struct plan_need *need, char *buf, size_t size)
{
	const bool intel = is_there(root, "/sys/firmware/acpi/tables/DMAR");
	const bool amd = is_there(root, "/sys/firmware/acpi/tables/IVRS");
	const bool both = strcmp(need->code, "iommu") != 0 || intel == amd;

	snprintf(buf, size, "%s",
		 both	 ? need->kernel_args
		 : intel ? "intel_iommu=on iommu=pt"
			 : "amd_iommu=on iommu=pt");
}

static void kernel_command(const char *root, const char *args, char *buf, size_t size)
{
	if (is_there(root, "/usr/sbin/grubby"))
		snprintf(buf, size, "grubby --update-kernel=ALL --args='%s'", args);
	else if (is_there(root, "/usr/sbin/update-grub"))
		snprintf(buf, size,
			 "mkdir -p /etc/default/grub.d && echo 'GRUB_CMDLINE_LINUX=\""
			 "$GRUB_CMDLINE_LINUX %s\"' >>/etc/default/grub.d/plenum.cfg && "
			 "update-grub",
			 args);
	else
		snprintf(buf, size, "# add to the kernel's command line: %s", args);
}

static json_t *need_to_json(const struct plan_need *need, const char *root)
{
	char args[sizeof(need->kernel_args)], command[320];
	json_t *commands = json_array();
	bool firmware = need->firmware[0];

	if (need->command[0])
		json_array_append_new(commands, json_string(need->command));
	choose_args(root, need, args, sizeof(args));
	/* No reboot is needed for hugepages that the running kernel can allocate. */
	if (args[0] && (need->reboot || !need->command[0])) {
		kernel_command(root, args, command, sizeof(command));
		json_array_append_new(commands, json_string(command));
	}
	if (strcmp(need->code, "iommu") == 0)
		firmware = !is_there(root, "/sys/firmware/acpi/tables/DMAR") &&
			   !is_there(root, "/sys/firmware/acpi/tables/IVRS");
	return json_pack("{s:s, s:s, s:o, s:s, s:b}", "code", need->code, "why", need->why,
			 "commands", commands, "firmware", firmware ? need->firmware : "", "reboot",
			 (int)need->reboot);
}

json_t *required_actions_to_json(const struct plan *p, const char *root)
{
	json_t *list = json_array();

	for (size_t i = 0; p && list && i < p->n_needs; i++)
		json_array_append_new(list, need_to_json(&p->needs[i], root));
	return list;
}

json_t *required_actions_account_to_json(const char *user)
{
	return json_pack("{s:s, s:o, s:[s], s:s, s:b}", "code", "no-account", "why",
			 json_sprintf("this host has no user %s, so workers share the uid 65534 "
				      "with other programs, and these can stop workers; workers "
				      "use the account from their next start",
				      user),
			 "commands", "systemd-sysusers", "firmware", "", "reboot", 0);
}

static bool is_reported(const json_t *reported, const struct plan_need *need)
{
	for (size_t i = 0; i < json_array_size(reported); i++)
		if (strcmp(json_string_value(json_array_get(reported, i)), need->why) == 0)
			return true;
	return false;
}

void required_actions_note(const struct plan *p, struct events *events, json_t **reported)
{
	json_t *now = json_array();

	for (size_t i = 0; now && i < p->n_needs; i++) {
		const struct plan_need *need = &p->needs[i];

		json_array_append_new(now, json_string(need->why));
		if (!is_reported(*reported, need))
			events_add(events, LOG_LEVEL_WARNING, "agent",
				   "%s: %s; 'plenum status' shows the commands",
				   need->reboot ? "reboot required" : "action required", need->why);
	}
	json_decref(*reported);
	*reported = now;
}
