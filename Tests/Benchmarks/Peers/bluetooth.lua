-- The Audio Gateway alone, without seats of a desktop.
bluez_monitor.properties["with-logind"] = false
bluez_monitor.properties["bluez5.headset-roles"] = "[ hfp_ag ]"
table.insert(bluez_monitor.rules, {
  matches = { { { "device.name", "matches", "bluez_card.*" } } },
  apply_properties = { ["bluez5.auto-connect"] = "[ hfp_hf ]", ["device.profile"] = "headset-head-unit" },
})
