module tidewater.example/webhooks

go 1.23

require (
	tidewater.example/relay v0.9.0
)
